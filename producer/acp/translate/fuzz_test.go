package translate_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/producer/acp/translate"
)

// Whatever an agent sends, a line each: every event is one, in an order that a strict
// client takes, every call has one result, and nothing is open at the end.
func FuzzTurn(f *testing.F) {
	f.Add([]byte(say("a") + "\n" + `{"sessionUpdate":"tool_call","toolCallId":"1","rawInput":[1]}` + "\n" + say("b")))
	f.Add([]byte(`{"sessionUpdate":"agent_thought_chunk","messageId":"x","content":{"type":"text","text":"\ud83d"}}` + "\n" + `{"sessionUpdate":"plan","entries":[]}`))
	f.Add([]byte(`{"toolCall":{"toolCallId":"1"},"options":[{"optionId":"a"}]}` + "\n" + `{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"x"}}]}`))
	f.Add([]byte(`{"mode":"url","message":"m","url":"https://h/p"}` + "\n" + `{"sessionUpdate":"x.request","requestId":"1"}`))
	f.Fuzz(func(t *testing.T, lines []byte) {
		var open agui.Open
		var e agui.Event
		results := map[string]int{}
		calls := 0
		tr := translate.New(translate.Config{ChatID: "c", RunID: "r", Input: json.RawMessage(`{}`)}, func(event []byte) error {
			require.NoError(t, agui.Scan(event, &e), "%s", event)
			if e.Type == agui.RunFinished {
				require.Empty(t, open.CloseAll(), "something is open before RUN_FINISHED")
				require.Empty(t, open.Unanswered(), "calls without a result before RUN_FINISHED")
			}
			if e.Type == agui.ToolCallStart {
				calls++
			}
			if e.Type == agui.ToolCallResult {
				var f struct{ ToolCallID string }
				require.NoError(t, json.Unmarshal(event, &f))
				results[f.ToolCallID]++
			}
			_, asked := agui.Asked(&e)
			require.False(t, asked, "an update is not a question: %s", event)
			open.Add(&e)
			return nil
		})
		require.NoError(t, tr.Start())
		for line := range bytes.SplitSeq(lines, []byte("\n")) {
			if err := tr.Update(line); err != nil {
				require.ErrorIs(t, err, translate.ErrMalformed)
			}
			for _, name := range []string{translate.Permission, translate.Elicitation} {
				value, _, err := tr.Question(name, line)
				if err != nil {
					require.ErrorIs(t, err, translate.ErrMalformed)
					continue
				}
				_, err = json.Marshal(value)
				require.NoError(t, err)
			}
		}
		require.NoError(t, tr.Finish(json.RawMessage(`{"stopReason":"end_turn"}`)))
		require.Equal(t, agui.RunFinished, open.Terminal())
		require.Len(t, results, calls)
		for id, n := range results {
			require.Equal(t, 1, n, id)
		}
	})
}
