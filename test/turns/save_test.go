package turns_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/producer/save"
	"github.com/rejoin/rejoin/producer/worker"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// talking is an agent that says 200 numbers and goes on until it is stopped.
var talking = agent.Func(func(ctx context.Context, t agent.Turn) error {
	if err := publish(t, begin); err != nil {
		return err
	}
	if err := count(t, 1, 200); err != nil {
		return err
	}
	<-ctx.Done()
	return context.Cause(ctx)
})

// STOP-04: the partial answer of a stopped turn is the same for who watched it, who comes
// late and who reads the history, under one message; the end waits for a slow save.
func TestSTOP04_ASlowSave(t *testing.T) {
	t.Parallel()
	r := newRig(t, harness.Config{})
	saving, goOn := make(chan struct{}), make(chan struct{})
	inner := save.NewHistory(history.Open(r.Connect().Store))
	r.Worker(talking, worker.Config{Saver: save.Func(func(ctx context.Context, t *save.Turn) error {
		close(saving)
		<-goOn
		return inner.Save(ctx, t)
	})})
	id := r.send("c", "hi")
	live := r.open(0, "c").until(func(s *harness.Seen) bool { return says(s.State, "m") == harness.Text(200) })
	require.Equal(t, http.StatusAccepted, r.stop(1, "c", id).Status)
	<-saving
	live.until(func(s *harness.Seen) bool { return terminals(s) == 1 })
	late := r.open(1, "c").upTo(live.Seq)
	require.Equal(t, "finishing", r.view(id).State)
	require.Nil(t, r.view(id).End, "not saved yet, and not over")
	require.Equal(t, http.StatusAccepted, r.stop(1, "c", id).Status, "repeated until it is over")
	require.Nil(t, r.saved("c", id))
	close(goOn)
	live.toEnd()
	require.Equal(t, stoppedAndSaved, live.End)
	sameEnd(r, live.Seen, late.toEnd())
	require.Equal(t, harness.Text(200), says(live.State, "m"))
	require.Equal(t, []string{"text m"}, live.State.Order)
	require.Contains(t, live.Events[len(live.Events)-1], `"cancelled"`)
	saved := r.saved("c", id)
	require.Equal(t, live.State, r.reduce(saved.Events))
	require.Equal(t, subjects.ReasonStopped, saved.Reason)
}

// A save that fails in whatever way never shows as saved, be the turn done or stopped; what
// it has said stays, and no other chat waits for it.
func TestSTOP04_SavesThatFail(t *testing.T) {
	t.Parallel()
	var hung = make(chan struct{})
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		switch req.URL.Path {
		case "/fails":
			w.WriteHeader(http.StatusInternalServerError)
		case "/refuses":
			w.WriteHeader(http.StatusUnprocessableEntity)
		case "/stale":
			w.WriteHeader(http.StatusConflict)
		case "/hangs":
			select {
			case <-hung:
			case <-req.Context().Done():
			}
		}
	}))
	t.Cleanup(hook.Close)
	t.Cleanup(func() { close(hung) })
	webhook := func(path string) save.Saver {
		s, err := save.NewWebhook(save.WebhookConfig{URL: hook.URL + path, MinBackoff: time.Millisecond, Client: hook.Client()})
		require.NoError(t, err)
		return s
	}
	within := map[string]time.Duration{"fails": 300 * time.Millisecond, "hangs": 300 * time.Millisecond} // the others answer, and take no time that counts
	for name, c := range map[string]struct {
		saver         save.Saver
		done, stopped subjects.Reason
	}{
		"fails":   {webhook("/fails"), subjects.ReasonSaveFailed, subjects.ReasonStopped},
		"refuses": {webhook("/refuses"), subjects.ReasonSaveFailed, subjects.ReasonStopped},
		"stale":   {webhook("/stale"), subjects.ReasonSkipped, subjects.ReasonSkipped},
		"hangs":   {webhook("/hangs"), subjects.ReasonSaveFailed, subjects.ReasonStopped},
		"error": {save.Func(func(context.Context, *save.Turn) error { return errors.New("no") }),
			subjects.ReasonSaveFailed, subjects.ReasonStopped},
		"panics": {save.Func(func(context.Context, *save.Turn) error { panic("no") }),
			subjects.ReasonSaveFailed, subjects.ReasonStopped},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, harness.Config{})
			a := agent.Func(func(ctx context.Context, t agent.Turn) error {
				if t.Request().Kind == "canvas" {
					return publish(t, said("m", "short"))
				}
				return talking(ctx, t)
			})
			r.Worker(a, worker.Config{Saver: c.saver, SaveTimeout: within[name]})
			done := r.send("done", "hi", "kind", "canvas")
			seen := r.watch(0, "done", done)
			require.Equal(t, &subjects.End{Reason: c.done}, seen.End)

			id := r.send("c", "hi")
			live := r.open(0, "c").until(func(s *harness.Seen) bool { return says(s.State, "m") == harness.Text(200) })
			require.Equal(t, http.StatusAccepted, r.stop(1, "c", id).Status)
			live.toEnd()
			require.Equal(t, &subjects.End{Reason: c.stopped}, live.End)
			require.Equal(t, harness.Text(200), says(live.State, "m"))
			require.Contains(t, live.Events[len(live.Events)-1], `"cancelled"`)
			sameEnd(r, live.Seen, r.watch(1, "c", id))
			require.Empty(t, r.history("c"))
			a2 := r.stop(0, "c", id)
			require.Equal(t, http.StatusConflict, a2.Status)
			require.Contains(t, a2.Body, `"persisted":false`)
		})
	}
}

// A save that hangs holds up its own run's end and nothing else, of however few turns at
// once.
func TestASaveThatHangsHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	r := newRig(t, harness.Config{})
	goOn, saving := make(chan struct{}), make(chan struct{})
	inner := save.NewHistory(history.Open(r.Connect().Store))
	r.Worker(counting(3), worker.Config{Concurrency: 1, Saver: save.Func(func(ctx context.Context, t *save.Turn) error {
		if t.ChatID == "hangs" {
			close(saving)
			<-goOn
		}
		return inner.Save(ctx, t)
	})})
	hangs := r.send("hangs", "hi")
	<-saving
	for range 5 {
		require.Equal(t, &subjects.End{Persisted: true, Reason: subjects.ReasonDone}, r.watch(0, "other", r.send("other", "hi")).End)
	}
	queued := r.send("hangs", "hi", "on_active", "queue")
	require.Equal(t, "queued", r.view(queued).State)
	require.Equal(t, "finishing", r.view(hangs).State)
	live := r.open(1, "hangs")
	close(goOn)
	require.Equal(t, &subjects.End{Persisted: true, Reason: subjects.ReasonDone}, live.toEnd().End)
}
