package agui_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
)

func scan(t testing.TB, raw string) *agui.Event {
	t.Helper()
	var e agui.Event
	require.NoError(t, agui.Scan([]byte(raw), &e), raw)
	return &e
}

func opened(t testing.TB, events ...string) *agui.Open {
	t.Helper()
	var o agui.Open
	for _, raw := range events {
		o.Add(scan(t, raw))
	}
	return &o
}

func closing(o *agui.Open) (events []string) {
	for _, e := range o.CloseAll() {
		events = append(events, string(e))
	}
	return events
}

const started = `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`

func TestWhatIsOpenIsClosedTheNewestFirst(t *testing.T) {
	t.Parallel()
	o := opened(t, started,
		`{"type":"STEP_STARTED","stepName":"plan"}`,
		`{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n"}`,
		`{"type":"STEP_STARTED","stepName":"plan","subagentRunId":"s"}`,
		`{"type":"REASONING_START","messageId":"r1"}`,
		`{"type":"REASONING_MESSAGE_START","messageId":"r1","role":"reasoning"}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"m1"}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"m2"}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"m1"}`,
		`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"x"}`,
		`{"type":"THINKING_START"}`,
		`{"type":"THINKING_TEXT_MESSAGE_START"}`,
		`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m3","delta":"x"}`,
	)
	require.Equal(t, []string{
		`{"type":"THINKING_TEXT_MESSAGE_END"}`,
		`{"type":"THINKING_END"}`,
		`{"type":"TOOL_CALL_END","toolCallId":"c1"}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"m2"}`,
		`{"type":"REASONING_MESSAGE_END","messageId":"r1"}`,
		`{"type":"REASONING_END","messageId":"r1"}`,
		`{"type":"STEP_FINISHED","stepName":"plan","subagentRunId":"s"}`,
		`{"type":"SUBAGENT_ERROR","subagentRunId":"s","message":"the run ended before this subagent did"}`,
		`{"type":"STEP_FINISHED","stepName":"plan"}`,
	}, closing(o))
	for _, raw := range closing(o) {
		o.Add(scan(t, raw))
	}
	require.Empty(t, closing(o))
	require.Equal(t, []string{"c1"}, o.Unanswered())
	require.Equal(t, `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"cancelled"}}`, string(o.RunFinished(agui.OutcomeCancelled)))
}

// Whoever starts and ends has its own way of writing the same id, and its own fields.
func TestIDsAreComparedAsTheyRead(t *testing.T) {
	t.Parallel()
	many := `,"a":` + strings.Join(strings.Split(strings.Repeat("1", 40), ""), `,"a":`)
	o := opened(t, started,
		`{"type":"TEXT_MESSAGE_START","messageId":"\u00e9\ud83d\ude00\/"}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"é😀/"}`,
		`{"type":"TEXT_MESSAGE_START","message\u0049d":"a"}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"x","messageId":"a"}`,
		`{"type":"TEXT_MESSAGE_START"`+many+`,"messageId":"b"}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"b"`+many+`}`,
		`{"type":"TOOL_CALL_START","toolCallId":"\ud83d"}`, // half of a pair is an id like any other to a browser
		`{"type":"TOOL_CALL_END","toolCallId":"\ud83e"}`,
	)
	require.Equal(t, []string{`{"type":"TOOL_CALL_END","toolCallId":"\ud83d"}`}, closing(o))
}

func TestWhatEndsIsNotOpen(t *testing.T) {
	t.Parallel()
	var o agui.Open
	require.False(t, o.Started())
	o.Add(scan(t, started))
	require.True(t, o.Started())
	require.Empty(t, o.Terminal())
	o.Add(scan(t, `{"type":"TEXT_MESSAGE_START","messageId":"m"}`))
	o.Add(scan(t, `{"type":"RUN_ERROR","message":"x"}`))
	require.Equal(t, agui.RunError, o.Terminal())
	require.Empty(t, closing(&o))
	o.Add(scan(t, `{"type":"RUN_STARTED","threadId":"t","runId":"r2"}`))
	require.Empty(t, o.Terminal())
	o.Add(scan(t, `{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"x","delta":"1"}`))
	o.Add(scan(t, `{"type":"TOOL_CALL_CHUNK","toolCallId":"c","delta":"1"}`))
	require.Equal(t, []string{"c"}, o.Unanswered())
	o.Add(scan(t, `{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":""}`))
	require.Empty(t, o.Unanswered())
	o.Add(scan(t, string(o.RunFinished(agui.OutcomeSuccess))))
	require.Equal(t, agui.RunFinished, o.Terminal())
	require.Empty(t, o.Interrupts())
}

func TestInterruptsAreKept(t *testing.T) {
	t.Parallel()
	first := `{"id":"i1","reason":"approve","message":"Delete?","toolCallId":"c"}`
	o := opened(t, started, `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[`+
		first+`,{"reason":"no id"},7,{"id":"i2","reason":"`+strings.Repeat("x", 20<<10)+`"}]}}`)
	require.Len(t, o.Interrupts(), 2)
	require.Equal(t, agui.Interrupt{ID: "i1", Reason: "approve", Message: "Delete?", Raw: json.RawMessage(first)}, o.Interrupts()[0])
	require.Equal(t, "i2", o.Interrupts()[1].ID)
	require.Nil(t, o.Interrupts()[1].Raw)
	o.Add(scan(t, started))
	require.Empty(t, o.Interrupts())
}

// An agent that never ends what it begins is not kept in mind for ever.
func TestWhatIsKeptIsBounded(t *testing.T) {
	t.Parallel()
	o := opened(t, started)
	for i := range 5000 {
		o.Add(scan(t, fmt.Sprintf(`{"type":"TEXT_MESSAGE_START","messageId":"m%d"}`, i)))
	}
	require.True(t, o.Overflowed())
	require.Len(t, o.CloseAll(), 1024)
	long := opened(t, started)
	for i := range 100 {
		long.Add(scan(t, fmt.Sprintf(`{"type":"TOOL_CALL_START","toolCallId":"%s%d"}`, strings.Repeat("x", 10000), i)))
	}
	require.True(t, long.Overflowed())
	require.Less(t, len(long.CloseAll()), 20)
	long.Add(scan(t, `{"type":"RUN_ERROR","message":""}`))
	require.False(t, long.Overflowed())
}

func TestEventsThatAreMade(t *testing.T) {
	t.Parallel()
	require.Equal(t, `{"type":"RUN_STARTED","threadId":"a<\"","runId":"r"}`, string(agui.NewRunStarted(`a<"`, "r", nil)))
	require.Equal(t, `{"type":"RUN_STARTED","threadId":"a","runId":"r","input":{"messages":[]}}`, string(agui.NewRunStarted("a", "r", json.RawMessage("{\n\"messages\":[]}"))))
	require.Equal(t, `{"type":"RUN_STARTED","threadId":"a","runId":"r"}`, string(agui.NewRunStarted("a", "r", json.RawMessage("[]"))))
	deep := `{"a":` + strings.Repeat("[", 510) + strings.Repeat("]", 510) + `}`
	require.Equal(t, `{"type":"RUN_STARTED","threadId":"a","runId":"r","input":`+deep+`}`, string(agui.NewRunStarted("a", "r", json.RawMessage(deep))))
	deep = `{"a":` + strings.Repeat("[", 511) + strings.Repeat("]", 511) + `}`
	require.Equal(t, `{"type":"RUN_STARTED","threadId":"a","runId":"r"}`, string(agui.NewRunStarted("a", "r", json.RawMessage(deep))))
	require.Equal(t, `{"type":"RUN_ERROR","message":"x\n\ufffd","code":"c"}`, string(agui.NewRunError("x\n\xff", "c")))
	require.Equal(t, `{"type":"RUN_ERROR","message":""}`, string(agui.NewRunError("", "")))
}

// FuzzOpen: whatever came, what is closed is closed, and every event made is one.
func FuzzOpen(f *testing.F) {
	f.Add([]byte(strings.Join(seeds, "\n")))
	f.Add([]byte(started + "\n" + `{"type":"TEXT_MESSAGE_START","messageId":"m\ud800"}` + "\n" + `{"type":"STEP_STARTED","stepName":"a","subagentRunId":"b"}`))
	f.Add([]byte(`{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"a"},{"id":"\u0000"},[]]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var o agui.Open
		var e agui.Event
		for line := range agui.Lines(raw) {
			if agui.Scan(line, &e) == nil {
				o.Add(&e)
			}
		}
		for _, end := range o.CloseAll() {
			require.NoError(t, agui.Scan(end, &e), "%s", end)
			o.Add(&e)
		}
		require.Empty(t, o.CloseAll())
		require.NoError(t, agui.Scan(o.RunFinished(agui.OutcomeSuccess), &e))
	})
}
