package turns_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/producer/worker"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// verifier refuses what a strict client refuses: anything but RUN_STARTED at the beginning,
// and anything behind a terminal event. It starts anew only with another run.
type verifier struct {
	run            subjects.RunID
	started, ended bool
}

func (v *verifier) take(run subjects.RunID, kind string) error {
	if run != v.run {
		*v = verifier{run: run}
	}
	switch {
	case v.ended:
		return fmt.Errorf("%s behind the end of %s", kind, run)
	case !v.started && kind != "RUN_STARTED" && kind != "RUN_ERROR":
		return fmt.Errorf("%s before %s has started", kind, run)
	}
	v.started, v.ended = true, kind == "RUN_FINISHED" || kind == "RUN_ERROR"
	return nil
}

// TERM-03: a chat whose runs were fine, failed, and fine: a client that keeps one verifier
// is shown each of them, and the failed one hides nothing.
func TestTERM03_AFailedRunHidesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, harness.Config{})
	goOn := make(chan struct{})
	r.Worker(agent.Func(func(ctx context.Context, t agent.Turn) error {
		if err := publish(t, said("m-"+string(t.Request().RunID), agui.UserText(t.Request().Input))); err != nil {
			return err
		}
		<-goOn
		if agui.UserText(t.Request().Input) == "fail" {
			return errors.New("no")
		}
		return nil
	}), worker.Config{})
	var v verifier
	check := func(s *harness.Seen) {
		t.Helper()
		for _, kind := range s.Types {
			require.NoError(t, v.take(s.RunID, kind))
		}
		require.Contains(t, s.Events[1], string(s.RunID), "its own message and no other")
		require.Equal(t, 1, terminals(s))
		require.Len(t, s.Events, 3)
	}
	var ids []subjects.RunID
	for i, words := range []string{"fine", "fail", "fine again"} {
		id := r.send("c", words)
		ids = append(ids, id)
		cursor := []any{"run_id", id}
		if i > 0 { // the same client goes on from the run before
			cursor = []any{"run_id", ids[i-1], "after_seq", 3}
		}
		p := r.open(i%2, "c", cursor...).until(func(s *harness.Seen) bool { return len(s.Events) == 2 })
		legacy, err := harness.Ask(r.within(), http.MethodPost, r.relays[1].URL+"/chat/live", `{"chat_id":"c"}`)
		require.NoError(t, err)
		goOn <- struct{}{}
		p.toEnd()
		require.Equal(t, id, p.RunID)
		check(p.Seen)
		want := subjects.End{Persisted: true, Reason: subjects.ReasonDone}
		if words == "fail" {
			want.Reason = subjects.ReasonError
		}
		require.Equal(t, &want, p.End)
		plain, err := legacy.Rest()
		require.NoError(t, err)
		lines := slices.DeleteFunc(strings.Split(plain, "\n"), func(line string) bool { return !strings.HasPrefix(line, "data: ") })
		require.Len(t, lines, 3, plain)
		require.Contains(t, lines[0], "RUN_STARTED")
		require.Contains(t, lines[1], string(id))
	}
	for i, turn := range r.history("c") {
		require.Equal(t, ids[i], turn.RunID)
		var events []struct{ Type string }
		require.NoError(t, json.Unmarshal(turn.Events, &events))
		for _, e := range events {
			require.NoError(t, v.take(turn.RunID+"saved", e.Type))
		}
	}
}

const interrupt = `{"type":"RUN_FINISHED","threadId":"c","runId":"a","outcome":{"type":"interrupt","interrupts":[{"id":"i1","reason":"confirm"}]}}`

// TERM-04: a run that has ended to ask waits: through a relay's restart, and for longer
// than ended runs are kept. The answer starts the next one, and each event is counted
// once.
func TestTERM04_ARunThatParks(t *testing.T) {
	t.Parallel()
	const retain = 4 * time.Second // no reader is that late
	r := newRig(t, harness.Config{Lease: time.Second}, runs.JanitorConfig{Retention: retain, Interval: 50 * time.Millisecond})
	resumed := make(chan *agent.Request, 1)
	r.Worker(agent.Func(func(ctx context.Context, t agent.Turn) error {
		switch {
		case t.Request().Kind == "approval":
			resumed <- t.Request()
			return publish(t, said("m2", "after"))
		case t.Request().ChatID == "other":
			return nil
		}
		return publish(t, `{"type":"RUN_STARTED","threadId":"c","runId":"a"}`, said("m1", "before"), interrupt)
	}), worker.Config{})
	id := r.send("c", "hi")
	before := r.watch(0, "c", id)
	require.Equal(t, []string{"RUN_STARTED", "TEXT_MESSAGE_CHUNK", "RUN_FINISHED"}, before.Types)
	require.Equal(t, &subjects.End{Persisted: true, Reason: subjects.ReasonDone}, before.End)
	require.Equal(t, "waiting", r.view(id).State)
	require.Equal(t, "i1", r.view(id).Questions[0].RequestID)

	r.restart(0)
	other := r.send("other", "hi")
	require.Equal(t, subjects.ReasonDone, r.watch(0, "other", other).End.Reason)
	harness.Eventually(t, "what ended later has left", func() bool {
		return r.do(1, http.MethodGet, "/runs/"+string(other), "").Status == http.StatusNotFound
	})
	require.Equal(t, "waiting", r.view(id).State)
	sameEnd(r, before, r.watch(0, "c", id))

	a := r.answer(0, "c", id, "i1", `{"approved":true}`)
	require.Equal(t, http.StatusOK, a.Status, a.Body)
	next := a.RunID // the run that has asked may leave from now on
	require.NotEqual(t, id, next)
	req := <-resumed
	require.Equal(t, next, req.RunID)
	var input struct{ Resume json.RawMessage }
	require.NoError(t, json.Unmarshal(req.Input, &input))
	require.JSONEq(t, `[{"interruptId":"i1","status":"resolved","payload":{"approved":true}}]`, string(input.Resume))
	harness.Eventually(t, "the next run is saved", func() bool { return r.saved("c", next) != nil })
	turns := r.history("c")
	require.Len(t, turns, 2)
	require.Equal(t, []string{"send", "approval"}, []string{turns[0].Kind, turns[1].Kind})
	counted := map[string]int{}
	for _, turn := range turns {
		var events []struct{ Type, Delta string }
		require.NoError(t, json.Unmarshal(turn.Events, &events))
		for _, e := range events {
			counted[e.Type+e.Delta]++
		}
	}
	require.Equal(t, map[string]int{"RUN_STARTED": 2, "TEXT_MESSAGE_CHUNKbefore": 1, "RUN_FINISHED": 2, "TEXT_MESSAGE_CHUNKafter": 1}, counted)
}

// TERM-04: a client that follows the chat through the question, and one that asks for the
// next run by the id in the answer, are shown each event once.
func TestTERM04_WatchingThroughTheQuestion(t *testing.T) {
	t.Parallel()
	r := newRig(t, harness.Config{})
	r.Worker(agent.Func(func(ctx context.Context, t agent.Turn) error {
		if t.Request().Kind == "approval" {
			return publish(t, said("m2", "after"))
		}
		return publish(t, `{"type":"RUN_STARTED","threadId":"c","runId":"a"}`, said("m1", "before"), interrupt)
	}), worker.Config{})
	id := r.send("c", "hi")
	first := r.open(0, "c", "run_id", id).toEnd()
	replies := together(2, func(_, relay int) reply { return r.answer(relay, "c", id, "i1", `{"approved":true}`) })
	for _, a := range replies {
		require.Equal(t, http.StatusOK, a.Status, a.Body)
		require.Equal(t, replies[0].RunID, a.RunID)
	}
	a, lost := replies[0], r.answer(1, "c", id, "i1", `{"approved":false}`)
	require.Equal(t, http.StatusConflict, lost.Status, lost.Body)
	require.JSONEq(t, `{"approved":true}`, string(lost.Outcome))
	for i, p := range []*page{r.open(0, "c", "run_id", a.RunID), r.open(1, "c", "run_id", id, "after_seq", first.Seq)} {
		p.toEnd()
		require.Equal(t, a.RunID, p.RunID, i)
		require.Equal(t, []string{"RUN_STARTED", "TEXT_MESSAGE_CHUNK", "RUN_FINISHED"}, p.Types)
	}
	require.Equal(t, "ended", r.view(id).State, "nothing waits any more")
	require.Empty(t, r.view(id).Questions)
	require.Equal(t, "approval", r.view(a.RunID).Kind)
}

// TERM-04: a run with an open question waits without having ended, and goes on as the
// same run.
func TestTERM04_ARunThatWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t, harness.Config{})
	id := r.send("c", "hi")
	early := r.open(0, "c")
	goOn := make(chan struct{})
	r.Worker(agent.Func(func(ctx context.Context, t agent.Turn) error {
		if err := publish(t, begin); err != nil {
			return err
		}
		if a := ask(ctx, t); a.err != nil {
			return a.err
		}
		<-goOn
		return count(t, 1, 20)
	}), worker.Config{})
	request := early.until(harness.Asks).RequestID()
	r.state(id, "waiting")
	during := r.open(1, "c")
	require.Equal(t, http.StatusOK, r.answer(0, "c", id, request, yes).Status)
	r.state(id, "running")
	close(goOn)
	early.toEnd()
	sameEnd(r, early.Seen, during.toEnd())
	sameEnd(r, early.Seen, r.watch(1, "c", id))
	require.Equal(t, harness.Text(20), says(early.State, "m"))
	require.Equal(t, 1, terminals(early.Seen))
}
