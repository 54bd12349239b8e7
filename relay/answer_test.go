package relay_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/subjects"
)

const (
	yes = `{"outcome":"selected","optionId":"yes"}`
	no  = `{"outcome":"selected","optionId":"no"}`
)

func answering(r *run, request, outcome string) string {
	return fmt.Sprintf(`{"chat_id":"c","run_id":%q,"request_id":%q,"outcome":%s}`, r.id(), request, outcome)
}

func TestAnswersThatAreRefused(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, nil)
	r := f.begin(f.send("c", "").RunID)
	r.ask(runs.Question{Name: "permission", RequestID: "q", Options: []string{"yes", "no"}})
	r.ask(runs.Question{Name: "form", RequestID: "f", Value: json.RawMessage(`{"requestedSchema":{"required":["name"]}}`)})
	for body, want := range map[string]string{
		`{"run_id":"r","request_id":"q","outcome":{}}`:               "chat_id is empty",
		`{"chat_id":"c","request_id":"q","outcome":{}}`:              "run_id is missing",
		`{"chat_id":"c","run_id":"r","outcome":{}}`:                  "request_id is missing",
		`{"chat_id":"c","run_id":"r","request_id":"q"}`:              "outcome is missing or no object",
		`{"chat_id":"c","run_id":"r","request_id":"q","outcome":[]}`: "outcome is missing or no object",
		`{"chat_id":"c","run_id":"r","request_id":1,"outcome":{}}`:   "request_id must be a string",
		answering(r, "q", `{}`):                                      `"yes"`,
		answering(r, "q", `{"outcome":"selected","optionId":"x"}`):   `"no"`,
		answering(r, "f", `{"outcome":"selected"}`):                  `"accept"`,
		answering(r, "f", `{"action":"accept"}`):                     "outcome.content is no JSON object",
		answering(r, "f", `{"action":"accept","content":{}}`):        `outcome.content lacks "name"`,
		answering(r, "f", `{"x":"`+long(256<<10)+`"}`):               "allowed are 262144",
	} {
		v := f.post(http.StatusBadRequest, "/chat/answer", body)
		require.Equal(t, "bad_request", v.Code)
		require.Contains(t, v.Detail, want, body)
	}
	for _, body := range []string{
		answering(r, "unknown", yes),
		answering(r, long(300), yes),
		`{"chat_id":"c","run_id":"nonsense","request_id":"q","outcome":{}}`,
		`{"chat_id":"other","run_id":"` + r.id() + `","request_id":"q","outcome":` + yes + `}`,
	} {
		require.Equal(t, "not_found", f.post(http.StatusNotFound, "/chat/answer", body).Code, body)
	}
	require.Equal(t, http.StatusRequestEntityTooLarge, f.do(http.MethodPost, "/chat/answer", `{"x":"`+long(512<<10)+`"}`).status)
	controls, err := f.store.Controls(t.Context(), r.entry.RunID, 0)
	require.NoError(t, err)
	require.Empty(t, controls)
}

// APP-03: of many answers at once one wins, and everybody learns which.
func TestAPP03_TheFirstAnswerWins(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, nil)
	r := f.begin(f.send("c", "").RunID)
	r.ask(runs.Question{Name: "permission", RequestID: "q", Options: []string{"yes", "no"}})
	v := f.view(r.id())
	require.Equal(t, "waiting", v.State)
	require.Equal(t, []map[string]string{{"request_id": "q", "name": "permission"}}, v.Questions)

	answers := make([]answer, 20)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() { answers[i] = f.do(http.MethodPost, "/chat/answer", answering(r, "q", []string{yes, no}[i%2])) })
	}
	wg.Wait()
	controls, err := f.store.Controls(t.Context(), r.entry.RunID, 0)
	require.NoError(t, err)
	require.Len(t, controls, 1)
	won := string(controls[0].Body)
	for i, a := range answers {
		if []string{yes, no}[i%2] == won {
			require.Equal(t, http.StatusOK, a.status, a.body)
			require.JSONEq(t, `{"status":"accepted"}`, a.body)
			continue
		}
		require.Equal(t, http.StatusConflict, a.status)
		require.Equal(t, "already_answered", a.problem(t).Code)
		var lost struct{ Outcome json.RawMessage }
		require.NoError(t, json.Unmarshal([]byte(a.body), &lost))
		require.JSONEq(t, won, string(lost.Outcome))
	}
	// After the run's end too: what was decided stays decided, what was not is closed.
	r.ask(runs.Question{Name: "permission", RequestID: "q2"})
	_, err = f.store.EndRun(t.Context(), r.entry.RunID, subjects.End{Reason: subjects.ReasonStopped})
	require.NoError(t, err)
	f.post(http.StatusOK, "/chat/answer", answering(r, "q", won))
	f.post(http.StatusNotFound, "/chat/answer", answering(r, "q2", yes))
	require.Equal(t, "ended", f.view(r.id()).State)
	require.Empty(t, f.view(r.id()).Questions)
}

// TERM-04: a run that has ended to ask waits, and its answer starts the next one, which is
// asked what a stock client would ask.
func TestTERM04_AnInterruptsAnswerStartsTheNextRun(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, nil)
	o := f.chat(`{"threadId":"c","runId":"theirs","state":{"a":1},"messages":[{"id":"u1","role":"user","content":"<hi>"}],` +
		`"tools":[],"context":[],"forwardedProps":{"k":"v"}}`)
	r := f.begin(o.runID())
	r.publish(runStarted,
		`{"type":"TEXT_MESSAGE_START","messageId":"a1","role":"assistant"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"a1","delta":"May "}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"a1","delta":"I?"}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"a1"}`)
	r.checkpoint()
	r.publish(`{"type":"TOOL_CALL_START","toolCallId":"t1","toolCallName":"delete","parentMessageId":"a1"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"t1","delta":"{}"}`,
		`{"type":"TOOL_CALL_END","toolCallId":"t1"}`,
		`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/b","value":[2]}]}`,
		`{"type":"RUN_FINISHED","threadId":"c","runId":"theirs","outcome":{"type":"interrupt","interrupts":[{"id":"i1"},{"id":"i2"}]}}`)
	for _, id := range []string{"i1", "i2"} {
		r.ask(runs.Question{Name: runs.InterruptName, RequestID: id, Interrupt: true})
	}
	require.Equal(t, "running", f.view(r.id()).State, "it has not ended yet")
	r.finish(done)
	v := f.view(r.id())
	require.Equal(t, "waiting", v.State)
	require.Len(t, v.Questions, 2)
	require.Equal(t, http.StatusNoContent, f.do(http.MethodPost, "/chat/live", `{"chat_id":"c","protocol":1}`).status)

	require.Empty(t, f.post(http.StatusOK, "/chat/answer", answering(r, "i1", `{"ok":true}`)).RunID, "another is open")
	next := f.post(http.StatusOK, "/chat/answer", answering(r, "i2", `{"action":"cancel"}`)).RunID
	require.NotEmpty(t, next)
	require.Equal(t, next, f.post(http.StatusOK, "/chat/answer", answering(r, "i2", `{"action":"cancel"}`)).RunID)
	require.Equal(t, "approval", f.view(next).Kind)

	var input map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(f.turn(next).Input, &input))
	require.NotEqual(t, `"theirs"`, string(input["runId"]))
	require.Len(t, string(input["runId"]), 24)
	require.Equal(t, `"c"`, string(input["threadId"]))
	require.Equal(t, `{"a":1,"b":[2]}`, string(input["state"]))
	require.JSONEq(t, `{"k":"v"}`, string(input["forwardedProps"]))
	require.JSONEq(t, `[{"interruptId":"i1","status":"resolved","payload":{"ok":true}},{"interruptId":"i2","status":"cancelled"}]`, string(input["resume"]))
	require.JSONEq(t, `[{"id":"u1","role":"user","content":"<hi>"},
		{"id":"a1","role":"assistant","content":"May I?","toolCalls":[{"id":"t1","type":"function","function":{"name":"delete","arguments":"{}"}}]}]`,
		string(input["messages"]))

	// The chat has gone on: nobody waits for another answer.
	f.begin(next).finish(done)
	f.post(http.StatusConflict, "/chat/answer", answering(r, "i2", `{}`))
}
