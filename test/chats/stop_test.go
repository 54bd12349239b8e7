package chats_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// A run that is stopped before it starts never does work, also where a worker has
// claimed its turn already.
func TestStopBeforeTheStart(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	id := f.send("c", `,"client_token":"t"`)
	claim, err := f.claimer.Next(f.within())
	require.NoError(t, err)
	require.Equal(t, id, claim.RunID)
	for _, name := range []string{`"client_token":"t"`, fmt.Sprintf(`"run_id":%q`, id)} {
		a := f.post(1, "/chat/stop", `{"chat_id":"c",%s}`, name)
		if a.Status == http.StatusAccepted {
			require.Equal(t, id, a.RunID)
			require.Equal(t, "stopping", a.Said)
			continue
		}
		require.Equal(t, "stale_run", a.Code)
		require.Equal(t, "stopped", a.Reason)
	}
	_, err = f.producer.Begin(f.within(), id, false)
	require.ErrorIs(t, err, producer.ErrEnded)
	require.NoError(t, claim.Done(f.within()))
	seen := f.watch(0, harness.Live("c"), nil)
	require.Equal(t, subjects.End{Reason: subjects.ReasonStopped}, *seen.End)
	require.Empty(t, seen.Events)
	next := f.send("c", "")
	require.Equal(t, next, f.begin(false).ID(), "the next message is taken at once")
}

// A stop and a start at the same moment: the run either never does work, or its producer
// is told to stop. It has one end.
func TestStopCrossingTheStart(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	for i := range 20 {
		chat := fmt.Sprint("c", i)
		id := f.send(chat, "")
		claim, err := f.claimer.Next(f.within())
		require.NoError(t, err)
		var run *producer.Run
		var wg sync.WaitGroup
		wg.Go(func() { run, err = f.producer.Begin(f.within(), claim.RunID, false) })
		a := f.stop(i%2, chat, id)
		wg.Wait()
		require.Equal(t, http.StatusAccepted, a.Status, a.Body)
		if err != nil {
			// It has its end, or whoever stops it is about to store that.
			require.True(t, errors.Is(err, producer.ErrEnded) || errors.Is(err, producer.ErrBegun), "%v", err)
		} else {
			select {
			case <-run.Stopping():
				_, _ = run.Finish(f.within(), producer.FinishOptions{Reason: subjects.ReasonStopped})
			case <-run.Done():
			}
		}
		require.NoError(t, claim.Done(f.within()))
		require.Equal(t, subjects.ReasonStopped, f.watch(0, harness.Live(chat), nil).End.Reason)
	}
}

// STOP-02: from another tab, through another relay, until it is over; the partial answer
// stays.
func TestSTOP02_StopFromElsewhere(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	id := f.send("c", "")
	a := f.open(0, http.MethodPost, "/chat/live", harness.Live("c"))
	r := f.begin(false)
	f.Publish(r, 1, 200)
	for i := range 4 {
		require.Equal(t, http.StatusAccepted, f.stop(i%2, "c", id).Status)
	}
	<-r.Stopping()
	f.finish(r, producer.FinishOptions{Reason: subjects.ReasonStopped, Save: func(context.Context) error { return nil }})
	late := f.watch(1, harness.Live("c", "run_id", id), nil)
	live, err := harness.See(f.within(), a, nil)
	require.NoError(t, err)
	for _, seen := range []*harness.Seen{live, late} {
		require.Equal(t, subjects.End{Persisted: true, Reason: subjects.ReasonStopped}, *seen.End)
		require.Equal(t, harness.Text(200), text(seen))
	}
	again := f.stop(0, "c", id)
	require.Equal(t, http.StatusConflict, again.Status)
	require.Equal(t, "stale_run", again.Code)
	require.Contains(t, again.Body, `"persisted":true`)
}
