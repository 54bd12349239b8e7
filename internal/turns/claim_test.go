package turns_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/subjects"
)

func (f *fabric) workers(q *turns.Queue) *turns.Claimer {
	f.Helper()
	c, err := q.Workers(f.Context())
	require.NoError(f, err)
	return c
}

func (f *fabric) next(c *turns.Claimer) *turns.Claim {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), patience)
	defer cancel()
	claim, err := c.Next(ctx)
	require.NoError(f, err)
	return claim
}

// none says that nothing is to be claimed: turns are claimed in order, so a turn sent now
// would come behind any other.
func (f *fabric) none(c *turns.Claimer) {
	f.Helper()
	probe := f.send("probe", runs.Supersede)
	claim := f.next(c)
	require.Equal(f, probe.RunID, claim.RunID)
	require.NoError(f, claim.Done(f.Context()))
}

func TestClaimsAreSharedAndGivenBack(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	other := f.another()
	a, b := f.workers(f.queue), f.workers(other)
	first, second := f.send("1", runs.Reject), f.send("2", runs.Reject)
	one, two := f.next(a), f.next(b)
	require.Equal(t, first.RunID, one.RunID)
	require.Equal(t, second.RunID, two.RunID)
	require.Equal(t, "1", one.ChatID)
	require.JSONEq(t, `{"text":"hi"}`, string(one.Input))
	require.NoError(t, one.Extend())
	require.NoError(t, one.Release())
	again := f.next(b)
	require.Equal(t, first.RunID, again.RunID)
	require.NoError(t, f.begin(again.RunID, false))
	require.NoError(t, again.Done(t.Context()))
	require.NoError(t, two.Done(t.Context()))
	require.Empty(t, f.waiting())
}

// A worker that dies with a claim loses it. One that began the run before it died has left
// nothing to do.
func TestClaimTwice(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	c := f.workers(turns.New(f.store, turns.Config{AckWait: 200 * time.Millisecond}))
	sent := f.send("c", runs.Reject)
	require.Equal(t, sent.RunID, f.next(c).RunID)
	require.Equal(t, sent.RunID, f.next(c).RunID)
	require.NoError(t, f.begin(sent.RunID, false))
	ctx, cancel := context.WithCancel(t.Context())
	claimed := make(chan error, 1)
	go func() {
		_, err := c.Next(ctx)
		claimed <- err
	}()
	require.Eventually(t, func() bool { return len(f.waiting()) == 0 }, patience, 10*time.Millisecond, "it is taken out")
	cancel()
	require.ErrorIs(t, <-claimed, context.Canceled)
}

// What was stopped, replaced, removed or never was a turn is not given to anyone.
func TestClaimNothingInVain(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	stopped, replaced, gone := f.send("stopped", runs.Reject), f.send("replaced", runs.Reject), f.send("gone", runs.Reject)
	_, err := f.queue.Stop(t.Context(), turns.StopRequest{ChatID: "stopped", RunID: stopped.RunID})
	require.NoError(t, err)
	require.NoError(t, f.store.Discard(t.Context(), gone.RunID))
	_, err = f.js.Publish(t.Context(), "rejoin.turn.send."+string(subjects.NewRunID(0)), []byte("no JSON"))
	require.NoError(t, err)
	newer := f.send("replaced", runs.Supersede)
	require.False(t, f.entry(replaced.RunID).Active())
	c := f.workers(f.queue)
	claim := f.next(c)
	require.Equal(t, newer.RunID, claim.RunID)
	require.NoError(t, claim.Done(t.Context()))
	f.none(c)
	require.Empty(t, f.waiting())
}

// A worker outlives its broker's restart, and so do the turns.
func TestClaimAfterABrokerRestart(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{Listen: "127.0.0.1:0", StoreDir: t.TempDir()})
	c := f.workers(f.queue)
	waiting := make(chan *turns.Claim, 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	go func() {
		claim, err := c.Next(ctx)
		if err != nil {
			t.Error(err)
		}
		waiting <- claim
	}()
	before := f.store.Reconnected()
	require.NoError(t, f.server.Restart())
	<-before
	sent := f.send("c", runs.Reject)
	claim := <-waiting
	require.NotNil(t, claim)
	require.Equal(t, sent.RunID, claim.RunID)
	require.NoError(t, claim.Done(t.Context()))
}
