package agui_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
	contract "github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/producer/demo"
)

// everything is a run that leaves open whatever can be.
var everything = [][]byte{
	[]byte(`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`),
	[]byte(`{"type":"STEP_STARTED","stepName":"s"}`),
	[]byte(`{"type":"SUBAGENT_STARTED","subagentRunId":"sub","name":"n"}`),
	[]byte(`{"type":"STEP_STARTED","stepName":"s","subagentRunId":"sub"}`),
	[]byte(`{"type":"TEXT_MESSAGE_START","messageId":"m\u00e9\ud83d\ude00","subagentRunId":"sub"}`),
	[]byte(`{"type":"REASONING_START","messageId":"th"}`),
	[]byte(`{"type":"REASONING_MESSAGE_START","messageId":"th","role":"reasoning"}`),
	[]byte(`{"type":"TEXT_MESSAGE_START","messageId":"m2","role":"assistant"}`),
	[]byte(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m2","delta":"half \ud83d"}`),
	[]byte(`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m2"}`),
	[]byte(`{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{"}`),
	[]byte(`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m3","delta":"chunk"}`),
	[]byte(`{"type":"TOOL_CALL_CHUNK","toolCallId":"c2","toolCallName":"g","delta":"{}"}`),
}

// A run that is ended for its agent, wherever it was, is one that the stock client takes; and what the chat's messages
// are then said to be is what the client has.
func TestStockClientTakesRunsThatWereClosed(t *testing.T) {
	t.Parallel()
	var bodies [][]byte
	var runs [][][]byte
	for _, events := range [][][]byte{everything, load(t, "copilotkit-state").events, load(t, "copilotkit-tools").events, load(t, "handwritten-mixed").events} {
		var open agui.Open
		var e agui.Event
		for k, event := range events {
			require.NoError(t, agui.Scan(event, &e))
			if open.Add(&e); open.Terminal() != "" {
				break
			}
			run := append(append([][]byte{}, events[:k+1]...), open.CloseAll()...)
			run = append(run, open.RunFinished(agui.OutcomeCancelled))
			runs, bodies = append(runs, run), append(bodies, frames(run...))
		}
	}
	input := load(t, "copilotkit-state").input
	for i, got := range read(t, served(t, input, bodies...)...) {
		require.Equal(t, "finished", got.Outcome, "%+v\n%s", got.Error, bodies[i])
		var m agui.Messages
		require.NoError(t, m.AddTurn("r", json.RawMessage(`{"messages":[{"id":"user-1","role":"user","content":"Please help me 🙏"}]}`), joined(runs[i])))
		ours, err := json.Marshal(m.List())
		require.NoError(t, err)
		require.Equal(t, spoken(t, ours), spoken(t, got.Messages), "%s", bodies[i])
	}
}

// spoken is what is said in messages: reasoning, activity and the metadata of events are not.
func spoken(t *testing.T, messages json.RawMessage) (out []map[string]any) {
	t.Helper()
	var all []map[string]any
	require.NoError(t, json.Unmarshal(messages, &all))
	for _, m := range all {
		if m["role"] != "reasoning" && m["role"] != "activity" {
			delete(m, "metadata")
			out = append(out, m)
		}
	}
	return out
}

func joined(events [][]byte) (ndjson []byte) {
	for _, event := range events {
		ndjson = append(append(ndjson, event...), '\n')
	}
	return ndjson
}

// served makes a job for each body.
func served(t *testing.T, input string, bodies ...[]byte) (jobs []job) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var i int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &i)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(bodies[i])
	}))
	t.Cleanup(server.Close)
	for i := range bodies {
		jobs = append(jobs, job{input, fmt.Sprintf("%s/%d", server.URL, i)})
	}
	return jobs
}

// What the demo agent says and asks is what a stock client takes, and it ends up with every question closed.
func TestStockClientReadsTheDemoAgent(t *testing.T) {
	t.Parallel()
	var bodies [][]byte
	for _, text := range []string{"quick approval form", "quick"} {
		turn := &turn{input: fmt.Sprintf(`{"text":%q}`, text)}
		require.NoError(t, demo.NewAgent(demo.AgentConfig{}).Run(t.Context(), turn))
		bodies = append(bodies, frames(turn.events...))
	}
	verdicts := read(t, served(t, load(t, "copilotkit-text").input, bodies...)...)
	for i, asked := range []int{2, 0} {
		got := verdicts[i]
		require.Equal(t, "finished", got.Outcome, "%+v", got.Error)
		require.Equal(t, asked, strings.Count(string(got.Messages), `"role":"activity"`))
		require.NotContains(t, string(got.Messages), `"pending"`)
		require.Contains(t, string(got.Messages), "You said “quick")
	}
}

// turn is a worker's side of a turn in which everything is allowed.
type turn struct {
	input  string
	asked  int
	events [][]byte
}

func (t *turn) Request() *contract.Request {
	return &contract.Request{ChatID: "chat", RunID: "0run", Input: json.RawMessage(t.input)}
}

func (t *turn) Steering() <-chan json.RawMessage { return nil }

func (t *turn) Publish(_ context.Context, event []byte) error {
	t.events = append(t.events, event)
	return nil
}

func (t *turn) Ask(_ context.Context, q contract.Question) (contract.Answer, error) {
	t.asked++
	value, err := json.Marshal(q.Value)
	if err != nil {
		return contract.Answer{}, err
	}
	question := agui.Question{Name: q.Name, RequestID: fmt.Sprintf("0run:%d", t.asked), MessageID: fmt.Sprintf("question-%d", t.asked), Value: value}
	outcome := json.RawMessage(`{"outcome":"selected","optionId":"allow"}`)
	if q.Options == nil {
		outcome = json.RawMessage(`{"action":"accept","content":{"colour":"red"}}`)
	}
	t.events = append(t.events, agui.RequestEvents(question)...)
	t.events = append(t.events, agui.ResolvedEvents(question, string(contract.StatusOf(outcome)), outcome, "")...)
	return contract.Answer{RequestID: question.RequestID, Status: contract.StatusOf(outcome), Outcome: outcome}, nil
}
