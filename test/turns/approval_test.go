package turns_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/producer/worker"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// APP-01, APP-02: a permission that is asked for stays open under its id, whatever is
// reloaded, restarted or cut and whatever the agent says meanwhile; it is answered once, and then
// closed for everybody.
func TestAPP01_APermissionOutlivesEverybodyElse(t *testing.T) {
	t.Parallel()
	const chatter = 5000
	r := newRig(t, harness.Config{Broker: harness.Networked(t)})
	talk, answers := make(chan struct{}), make(chan asked, 2)
	id := r.send("c", "hi")
	live := r.open(1, "c") // from the beginning, one by one
	w := r.Worker(agent.Func(func(ctx context.Context, t agent.Turn) error {
		if err := publish(t, begin); err != nil {
			return err
		}
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			answers <- ask(ctx, t)
		}()
		<-talk
		err := count(t, 1, chatter)
		<-answered
		return err
	}), worker.Config{})
	patient := r.follow(0, "c", id)
	first := r.open(0, "c").until(asksWithCard)
	request, asks := first.RequestID(), first.Seq // of the card
	stillOpen := func(p *page, seq uint64) *page {
		t.Helper()
		p.upTo(seq)
		require.Equal(t, request, p.RequestID())
		require.Len(t, p.State.Pending(), 2, "the prompt and its card")
		return p
	}
	stillOpen(first, asks)
	r.state(id, "waiting")
	require.Equal(t, request, r.view(id).Questions[0].RequestID)

	stillOpen(r.open(1, "c"), asks) // another device
	first.conn.Close()
	stillOpen(r.open(0, "c"), asks) // a reload
	r.restart(0)
	stillOpen(r.open(0, "c"), asks)
	w.Proxy.Cut()
	close(talk)
	harness.Eventually(t, "the agent has said all", func() bool { return r.view(id).Seq == asks+chatter })
	r.state(id, "waiting")
	stillOpen(live, asks+chatter)
	var pages []*page
	for i, after := range []uint64{0, asks - 2, asks - 1, asks, asks + 700, asks + chatter - 1} {
		pages = append(pages, stillOpen(r.resume(i%2, "c", live.Seen, after), asks+chatter))
	}
	require.Len(t, r.snapshot(0, id).Pending(), 2)
	w.Proxy.Cut()

	outcomes := [2]string{yes, no}
	replies := together(2, func(_, relay int) reply { return r.answer(relay, "c", id, request, outcomes[relay]) })
	won := 0
	if replies[1].Status == http.StatusOK {
		won = 1
	}
	require.Equal(t, http.StatusOK, replies[won].Status, replies[won].Body)
	lost := replies[1-won]
	require.Equal(t, http.StatusConflict, lost.Status, lost.Body)
	require.JSONEq(t, outcomes[won], string(lost.Outcome))
	a := <-answers
	require.NoError(t, a.err)
	require.JSONEq(t, outcomes[won], string(a.Outcome))
	require.Empty(t, answers)

	want := live.toEnd()
	require.Empty(t, want.State.Pending())
	require.Empty(t, want.State.Unknown)
	require.Contains(t, closing(r, want, request), outcomes[won][1:len(outcomes[won])-1])
	require.Equal(t, harness.Text(chatter), says(want.State, "m"))
	require.Equal(t, &subjects.End{Persisted: true, Reason: subjects.ReasonDone}, want.End)
	for _, p := range pages {
		sameEnd(r, want, p.toEnd())
	}
	sameEnd(r, want, patient())
	for i, after := range []uint64{0, asks - 1, asks, asks + chatter/2, asks + chatter} {
		sameEnd(r, want, r.resume(i%2, "c", want, after).toEnd())
	}
	require.Equal(t, want.State, r.snapshot(0, id))
	require.Equal(t, want.State, r.reduce(r.saved("c", id).Events))
	require.Equal(t, http.StatusOK, r.answer(1, "c", id, request, outcomes[won]).Status, "a retry after a lost 200")
	require.Equal(t, http.StatusConflict, r.answer(0, "c", id, request, outcomes[1-won]).Status)
}

// asksWithCard says whether one question is open, with the card that shows it; which of the two is
// the last when a reader comes is a matter of when it comes.
func asksWithCard(s *harness.Seen) bool { return harness.Asks(s) && len(s.State.Pending()) == 2 }

// APP-01: with whoever has asked gone, the permission is closed, with a reason, before
// the end.
func TestAPP01_AWorkerThatDiesClosesItsPermission(t *testing.T) {
	t.Parallel()
	r := newRig(t, harness.Config{Broker: harness.Networked(t), Lease: time.Second})
	w := r.WorkerProcess(filepath.Join(t.TempDir(), "begun"), time.Millisecond)
	id := r.send("c", "ask")
	live := r.open(0, "c").until(asksWithCard)
	request := live.RequestID()
	w.Kill()
	live.toEnd()
	require.Equal(t, &subjects.End{Reason: subjects.ReasonAbandoned}, live.End)
	require.Equal(t, "expired", live.State.Status["prompt "+request])
	require.Equal(t, "expired", live.State.Status["activity question-"+request])
	require.Contains(t, closing(r, live.Seen, request), `"reason":"abandoned"`)
	sameEnd(r, live.Seen, r.watch(1, "c", id))
	require.Equal(t, live.State, r.snapshot(0, id))
	require.Equal(t, http.StatusNotFound, r.answer(1, "c", id, request, yes).Status)
	require.Equal(t, "ended", r.view(id).State)
	r.WorkerProcess(filepath.Join(t.TempDir(), "begun"), time.Millisecond)
	require.Equal(t, subjects.ReasonDone, r.watch(0, "c", r.send("c", "3")).End.Reason)
}

// APP-02: an answer that comes while a reader attaches closes the question for that
// reader, whatever the moment.
func TestAPP02_AnAnswerAtTheSeam(t *testing.T) {
	t.Parallel()
	const rounds = 60
	r := newRig(t, harness.Config{})
	r.Worker(agent.Func(func(ctx context.Context, t agent.Turn) error {
		for range rounds {
			if a := ask(ctx, t); a.err != nil {
				return a.err
			}
		}
		return nil
	}), worker.Config{})
	id := r.send("c", "hi")
	live := r.open(1, "c")
	for i := range rounds {
		request := fmt.Sprintf("%s:%d", id, i+1)
		live.until(func(s *harness.Seen) bool { return s.RequestID() == request })
		more := [][]any{nil, {"run_id", id, "after_seq", live.Seq}}[i%2]
		readers := make(chan *page, 1)
		go func() {
			time.Sleep(rand.N(4 * time.Millisecond)) // before the answer or behind it
			readers <- r.open(i%2, "c", more...)
		}()
		time.Sleep(rand.N(4 * time.Millisecond)) // before the reader or behind it
		require.Equal(t, http.StatusOK, r.answer(rand.IntN(2), "c", id, request, yes).Status)
		p := <-readers
		p.until(func(s *harness.Seen) bool { return s.State.Status["prompt "+request] == "selected" })
		p.conn.Close()
	}
	require.Empty(t, live.toEnd().State.Pending())
}

// APP-02: a tool that runs in the client and has no result yet is there for whoever
// reloads the page, and runs once.
func TestAPP02_AToolInTheClientRunsOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, harness.Config{})
	results := make(chan asked, 1)
	id := r.send("c", "hi")
	live := r.open(1, "c")
	r.Worker(agent.Func(func(ctx context.Context, t agent.Turn) error {
		if err := publish(t, `{"type":"TOOL_CALL_START","toolCallId":"t1","toolCallName":"beep"}`,
			`{"type":"TOOL_CALL_ARGS","toolCallId":"t1","delta":"{\"times\""}`,
			`{"type":"TOOL_CALL_ARGS","toolCallId":"t1","delta":":1}"}`,
			`{"type":"TOOL_CALL_END","toolCallId":"t1"}`); err != nil {
			return err
		}
		a, err := t.Ask(ctx, agent.Question{Name: "client.tool", Value: map[string]any{"toolCallId": "t1"}})
		results <- asked{a, err}
		if err != nil {
			return err
		}
		return publish(t, `{"type":"TOOL_CALL_RESULT","messageId":"r1","toolCallId":"t1","content":"beeped"}`, said("m", "thanks"))
	}), worker.Config{})
	seq := r.open(0, "c").until(harness.Asks).Seq

	ran := 0 // the side effect
	reload := func(relay int) *page {
		t.Helper()
		p := r.open(relay, "c", "run_id", id)
		if p.upTo(seq); p.RequestID() != "" { // what waits is recoverable, with its call
			ran++
			require.Equal(t, http.StatusOK, r.answer(relay, "c", id, p.RequestID(), `{"content":"beeped"}`).Status)
		}
		return p
	}
	glance := r.open(1, "c").until(harness.Asks) // looks, and goes before it runs the tool
	require.True(t, glance.State.Closed["tool t1"])
	glance.conn.Close()
	reload(0)
	a := <-results
	require.NoError(t, a.err)
	require.JSONEq(t, `{"content":"beeped"}`, string(a.Outcome))
	want := live.toEnd()
	seq = want.Seq
	for after := range want.Seq + 1 {
		sameEnd(r, want, r.resume(int(after)%2, "c", want, after).toEnd())
	}
	for relay := range 2 {
		sameEnd(r, want, reload(relay).toEnd())
	}
	require.Equal(t, 1, ran)
	require.Equal(t, []string{"RUN_STARTED", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_ARGS", "TOOL_CALL_END", "CUSTOM", "ACTIVITY_SNAPSHOT",
		"CUSTOM", "ACTIVITY_SNAPSHOT", "TOOL_CALL_RESULT", "TEXT_MESSAGE_CHUNK", "RUN_FINISHED"}, want.Types)
}

// APP-02: the same with a run that ends for the sake of the tool; the result is the next
// turn's.
func TestAPP02_AToolInTheClientThatEndsItsRun(t *testing.T) {
	t.Parallel()
	r := newRig(t, harness.Config{})
	r.Worker(agent.Func(func(ctx context.Context, t agent.Turn) error {
		if agui.UserText(t.Request().Input) == "go on" {
			return publish(t, said("m2", "thanks"))
		}
		return publish(t, `{"type":"TOOL_CALL_START","toolCallId":"t1","toolCallName":"beep"}`, `{"type":"TOOL_CALL_END","toolCallId":"t1"}`)
	}), worker.Config{})
	first := r.send("c", "hi")
	require.Equal(t, subjects.ReasonDone, r.watch(0, "c", first).End.Reason)

	ran := 0
	// reload is a page that knows nothing: it reads what is saved, and runs the tools that were
	// called and that no later turn brings the result of.
	reload := func() {
		t.Helper()
		turns := r.history("c")
		require.True(t, r.reduce(turns[0].Events).Closed["tool t1"])
		if len(turns) > 1 {
			require.Contains(t, string(turns[1].Input), `"toolCallId":"t1"`)
			return
		}
		ran++
		a := r.do(1, http.MethodPost, "/chat/send", `{"chat_id":"c","input":{"threadId":"c","runId":"r2","messages":[
			{"id":"u1","role":"user","content":"hi"},{"id":"r1","role":"tool","toolCallId":"t1","content":"beeped"},{"id":"u2","role":"user","content":"go on"}]}}`)
		require.Equal(t, http.StatusAccepted, a.Status, a.Body)
		require.True(t, r.watch(0, "c", a.RunID).End.Persisted)
	}
	for range 3 {
		reload()
	}
	require.Equal(t, 1, ran)
}
