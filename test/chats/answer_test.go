package chats_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

const (
	yes = `{"outcome":"selected","optionId":"yes"}`
	no  = `{"outcome":"selected","optionId":"no"}`
)

func question(id string) string {
	return fmt.Sprintf(`{"type":"CUSTOM","name":"x.request","value":{"requestId":%q,"options":["yes","no"]}}`, id)
}

func resolved(id, status string) string {
	return fmt.Sprintf(`{"type":"CUSTOM","name":"x.resolved","value":{"requestId":%q,"status":%q}}`, id, status)
}

func (f *fabric) answer(relay int, id subjects.RunID, request, outcome string) answer {
	f.Helper()
	return f.post(relay, "/chat/answer", `{"chat_id":"c","run_id":%q,"request_id":%q,"outcome":%s}`, id, request, outcome)
}

// APP-03: two tabs at two relays answer at once. One wins, the producer is given one
// outcome, the loser learns which; the winner may repeat itself.
func TestAPP03_TwoAnswers(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	f.send("c", "")
	r := f.begin(false)
	for round := range 10 {
		id := fmt.Sprint("q", round)
		f.publish(r, question(id))
		require.Equal(t, "waiting", f.state(r.ID()))
		answers := all(8, func(i, relay int) answer { return f.answer(relay, r.ID(), id, []string{yes, no}[relay]) })
		c, err := r.NextControl(f.within())
		require.NoError(t, err)
		require.Equal(t, producer.ControlAnswer, c.Kind)
		require.Equal(t, id, c.ID)
		for i, a := range answers {
			if string(c.Body) == []string{yes, no}[i%2] {
				require.Equal(t, http.StatusOK, a.Status, a.Body)
				require.Equal(t, "accepted", a.Said)
				continue
			}
			require.Equal(t, http.StatusConflict, a.Status)
			require.Equal(t, "already_answered", a.Code)
			require.JSONEq(t, string(c.Body), string(a.Outcome))
		}
		f.publish(r, resolved(id, "selected"))
		require.Equal(t, http.StatusOK, f.answer(0, r.ID(), id, string(c.Body)).Status, "a retry after a lost 200")
	}
	f.asks(r.ID(), 0)
	require.Equal(t, "running", f.state(r.ID()))
	f.finish(r, done)
	stored, err := f.link.Store.Controls(f.within(), r.ID(), 0)
	require.NoError(t, err)
	require.Len(t, stored, 10)
}

// APP-03: too late, because the producer closed the question, or the run was stopped.
func TestAPP03_TooLate(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	id := f.send("c", "")
	r := f.begin(false)
	f.publish(r, question("q1"), question("q2"), resolved("q1", "expired"))
	f.asks(id, 1)
	require.Equal(t, http.StatusNotFound, f.answer(0, id, "q1", yes).Status)
	require.Equal(t, http.StatusAccepted, f.stop(1, "c", id).Status)
	<-r.Stopping()
	f.finish(r, producer.FinishOptions{Reason: subjects.ReasonStopped})
	a := f.answer(0, id, "q2", yes)
	require.Equal(t, http.StatusNotFound, a.Status)
	require.Equal(t, "not_found", a.Code)
	// Whoever comes later sees it closed, and why.
	seen := f.watch(1, harness.Live("c"), nil)
	require.Empty(t, seen.State.Pending())
	require.Contains(t, seen.Events[len(seen.Events)-1], `"x.resolved"`)
	require.Contains(t, seen.Events[len(seen.Events)-1], `"reason":"stopped"`)
}

// TERM-04: a run that waits without a terminal goes on with the same id.
func TestTERM04_ARunThatWaitsGoesOn(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	id := f.send("c", "")
	early := f.open(0, http.MethodPost, "/chat/live", harness.Live("c"))
	r := f.begin(false)
	f.publish(r, question("q"))
	parked := f.open(1, http.MethodPost, "/chat/live", harness.Live("c"))
	require.Equal(t, "waiting", f.state(id))
	require.Equal(t, http.StatusOK, f.answer(0, id, "q", yes).Status)
	_, err := r.NextControl(f.within())
	require.NoError(t, err)
	f.publish(r, resolved("q", "selected"), string(harness.Delta(1)))
	f.asks(id, 0)
	require.Equal(t, "running", f.state(id))
	late := f.open(0, http.MethodPost, "/chat/live", harness.Live("c"))
	f.finish(r, done)
	for _, c := range []*harness.Conn{early, parked, late} {
		seen, err := harness.See(f.within(), c, nil)
		require.NoError(t, err)
		require.Len(t, seen.Events, 3)
		require.Empty(t, seen.State.Pending())
	}
}

// TERM-04: a run that has ended to ask is answered by the next one. Two tabs answer at
// once: there is one next run.
func TestTERM04_ARunThatEndedToAsk(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	a := f.post(0, "/chat/send", `{"chat_id":"c","input":{"threadId":"c","runId":"r1","messages":[{"id":"u","role":"user","content":"go"}]}}`)
	r := f.begin(false)
	f.publish(r, `{"type":"RUN_STARTED","threadId":"c","runId":"r1"}`,
		`{"type":"RUN_FINISHED","threadId":"c","runId":"r1","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"confirm"}]}}`)
	f.finish(r, done)
	require.Equal(t, "waiting", f.state(a.RunID))
	answers := all(10, func(_, relay int) answer { return f.answer(relay, a.RunID, "i", `{"approved":true}`) })
	for _, a := range answers {
		require.Equal(t, http.StatusOK, a.Status, a.Body)
		require.Equal(t, answers[0].RunID, a.RunID)
	}
	lost := f.answer(0, a.RunID, "i", `{"approved":false}`)
	require.Equal(t, http.StatusConflict, lost.Status)
	require.JSONEq(t, `{"approved":true}`, string(lost.Outcome))

	next := f.begin(false)
	require.Equal(t, answers[0].RunID, next.ID())
	turn, err := f.queue.Turn(f.within(), next.ID())
	require.NoError(t, err)
	require.Equal(t, "approval", turn.Kind)
	var input struct{ Resume, Messages json.RawMessage }
	require.NoError(t, json.Unmarshal(turn.Input, &input))
	require.JSONEq(t, `[{"interruptId":"i","status":"resolved","payload":{"approved":true}}]`, string(input.Resume))
	require.JSONEq(t, `[{"id":"u","role":"user","content":"go"}]`, string(input.Messages))
	f.finish(next, done)
	require.Equal(t, "ended", f.state(next.ID()))
}
