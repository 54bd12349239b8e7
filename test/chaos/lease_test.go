package chaos_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/producer/worker"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
	"github.com/rejoin/rejoin/test/proxy"
)

const said = `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","role":"assistant","delta":"hi"}`

// A worker is cut off for longer than its lease while its agent works in silence. The
// run ends as abandoned; the agent is told once the worker is back, and what it says
// then is refused.
func TestAWorkerIsTakenForDead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, harness.Config{Broker: harness.Networked(t), Lease: time.Second})
	working, told := make(chan struct{}), make(chan error, 2)
	wk := w.Worker(agent.Func(func(ctx context.Context, t agent.Turn) error {
		if err := t.Publish(ctx, []byte(said)); err != nil {
			return err
		}
		close(working)
		<-ctx.Done()
		told <- context.Cause(ctx)
		var err error
		for err == nil {
			err = t.Publish(context.Background(), []byte(said))
		}
		told <- err
		return err
	}), worker.Config{StopPatience: harness.Patience})
	id := w.send("c", "work", runs.Reject)
	<-working
	w.stored(id, 2)
	wk.Proxy.Refuse(true)
	wk.Proxy.Cut()
	require.Equal(t, subjects.End{Reason: subjects.ReasonAbandoned}, w.ended(id))
	wk.Proxy.Refuse(false)
	require.ErrorIs(t, <-told, agent.ErrSuperseded)
	require.ErrorIs(t, <-told, agent.ErrOver)
	seen := w.Watch(w.relays[0].Hub, w.relays[0].Link, id, nil)
	require.Equal(t, subjects.ReasonAbandoned, seen.End.Reason)
	require.Equal(t, uint64(2), seen.Seq, "nothing late")
}

// The beginning of a turn is stored and its answer comes only after the worker has given
// up on it, while the worker's lease holds. The turn is begun again, or has an end: its
// chat is not stuck behind a run that nobody answers.
func TestABeginningWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, harness.Config{Broker: harness.Networked(t), Lease: time.Minute})
	var mu sync.Mutex
	begun := map[subjects.RunID]int{}
	wk := w.Worker(agent.Func(func(ctx context.Context, t agent.Turn) error {
		mu.Lock()
		defer mu.Unlock()
		begun[t.Request().RunID]++
		return nil
	}), worker.Config{})
	var once sync.Once
	stored, released := make(chan func(), 1), make(chan struct{}, 1)
	wk.Proxy.Tap(proxy.Up, func(b []byte) {
		if bytes.Contains(b, []byte("HPUB "+subjects.KeySubject("run."))) {
			once.Do(func() { stored <- wk.Proxy.Hold(proxy.Down) })
		}
		if bytes.Contains(b, []byte("-NAK")) {
			select {
			case released <- struct{}{}:
			default:
			}
		}
	})
	id := w.send("c", "work", runs.Reject)
	release := <-stored
	harness.Eventually(t, "the beginning is stored", func() bool { return w.entry(id).State == runs.StateRunning })
	<-released
	release()
	w.ended(id)
	w.ended(w.send("c", "next", runs.Reject))
	mu.Lock()
	defer mu.Unlock()
	require.LessOrEqual(t, begun[id], 1)
}

// stored waits until a run's log holds that many events.
func (w *world) stored(id subjects.RunID, n uint64) {
	w.Helper()
	harness.Eventually(w, "it is stored", func() bool {
		last, err := w.own.Store.Last(context.Background(), id)
		return err == nil && last.Last >= n
	})
}

func (w *world) entry(id subjects.RunID) *runs.Entry {
	w.Helper()
	e, err := w.own.Store.Entry(w.within(), id)
	require.NoError(w, err)
	return e
}
