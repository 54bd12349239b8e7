package runs_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// What a janitor saw before the broker was away counts for nothing afterwards:
// producers get a whole lease time to come back.
func TestOutageGivesProducersTheirTime(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{Listen: "127.0.0.1:0", StoreDir: t.TempDir()})
	lease := f.store.NewLease(time.Hour)
	e := f.start("c", 1, lease.ID())
	j := runs.NewJanitor(f.store, runs.JanitorConfig{Lease: time.Second})
	f.sweep(j)
	f.server.Stop()
	lost, cancel := context.WithTimeout(t.Context(), 1100*time.Millisecond) // more than the lease
	defer cancel()
	require.Error(t, j.Sweep(lost))
	require.NoError(t, f.server.Restart())
	require.Eventually(t, func() bool { return f.store.Ping(t.Context()) == nil }, patience, 10*time.Millisecond)
	f.sweep(j)
	require.True(t, f.entry(e.RunID).Active(), "ended for what was seen before the outage")
	require.NoError(t, lease.Renew(t.Context()))
	f.sweep(j)
	require.True(t, f.entry(e.RunID).Active())
}

// The same where no sweep fell into the outage.
func TestReconnectGivesProducersTheirTime(t *testing.T) {
	t.Parallel()
	d := newDistant(t)
	e := d.f.start("c", 1, "nobody")
	const lease = 500 * time.Millisecond
	j := runs.NewJanitor(d.Store, runs.JanitorConfig{Lease: lease})
	d.f.sweep(j)
	over := time.After(lease)
	back := d.Reconnected()
	d.proxy.Cut()
	<-back
	<-over
	d.f.sweep(j)
	require.True(t, d.f.entry(e.RunID).Active())
	d.f.sweepUntil(j, func() bool { return !d.f.entry(e.RunID).Active() })
}

// A run that was given up names no producer, and is ended all the same.
func TestRunWithoutAProducerIsEnded(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	e := f.start("c", 1, "")
	j := runs.NewJanitor(f.store, runs.JanitorConfig{Lease: time.Millisecond})
	f.sweepUntil(j, func() bool { return !f.entry(e.RunID).Active() })
	require.Equal(t, subjects.ReasonAbandoned, f.entry(e.RunID).End.Reason)
}

// A lease that ran out leaves a marker for a while, which keeps no run alive.
func TestRunWhoseLeaseRanOutIsEnded(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	lease := f.store.NewLease(time.Second)
	require.NoError(t, lease.Renew(t.Context()))
	e := f.start("c", 1, lease.ID())
	j := runs.NewJanitor(f.store, runs.JanitorConfig{Lease: 10 * time.Millisecond})
	f.sweep(j)
	require.True(t, f.entry(e.RunID).Active())
	f.sweepUntil(j, func() bool { return !f.entry(e.RunID).Active() })
}
