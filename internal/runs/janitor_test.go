package runs_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

func contextUntil(stop <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		select {
		case <-stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

func (f *fabric) sweep(j *runs.Janitor) {
	f.Helper()
	require.NoError(f, j.Sweep(f.Context()))
}

// sweepUntil sweeps until done says so.
func (f *fabric) sweepUntil(j *runs.Janitor, done func() bool) {
	f.Helper()
	for deadline := time.Now().Add(patience); !done(); {
		require.True(f, time.Now().Before(deadline), "the janitor does not get there")
		f.sweep(j)
		time.Sleep(5 * time.Millisecond) // what a janitor judges by is time that passes between its sweeps
	}
}

func TestTERM07_AbandonedRunGetsItsEnd(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	lease := f.store.NewLease(time.Hour)
	require.NoError(t, lease.Renew(t.Context()))
	dead, living := f.start("dead", 1, "nobody"), f.start("living", 1, lease.ID())
	f.publish(dead)
	var ended []subjects.Reason
	j := runs.NewJanitor(f.store, runs.JanitorConfig{Lease: 100 * time.Millisecond,
		Metrics: runs.JanitorMetrics{Ended: func(r subjects.Reason) { ended = append(ended, r) }}})
	f.sweep(j)
	require.True(t, f.entry(dead.RunID).Active(), "one look is not a whole lease time")
	f.sweepUntil(j, func() bool { return !f.entry(dead.RunID).Active() })
	require.Equal(t, &subjects.End{Reason: subjects.ReasonAbandoned}, f.entry(dead.RunID).End)
	last, err := f.store.Last(t.Context(), dead.RunID)
	require.NoError(t, err)
	require.Equal(t, subjects.KindEnd, last.Kind)
	require.Equal(t, uint64(1), last.Last)
	require.Equal(t, []subjects.Reason{subjects.ReasonAbandoned}, ended)

	// Its producer wakes up and finds itself fenced.
	r := event(2, dead.Writer)
	_, err = f.store.Append(t.Context(), dead.RunID, &r, last.StreamSeq-1)
	require.ErrorIs(t, err, runs.ErrEnded)
	require.True(t, f.entry(living.RunID).Active())
}

// A producer that comes back in time keeps its run: the time without it begins anew.
func TestReturningProducerKeepsItsRun(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	lease := f.store.NewLease(time.Hour)
	e := f.start("c", 1, lease.ID())
	j := runs.NewJanitor(f.store, runs.JanitorConfig{Lease: time.Hour})
	f.sweep(j)
	require.NoError(t, lease.Renew(t.Context()))
	f.sweep(j)
	require.True(t, f.entry(e.RunID).Active())
}

// The process that started the newer run died before it ended the older one, whose
// producer lives on.
func TestReplacedRunIsEndedAsSuperseded(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	lease := f.store.NewLease(time.Hour)
	require.NoError(t, lease.Renew(t.Context()))
	older, newer := f.start("c", 1, lease.ID()), f.start("c", 2, lease.ID())
	racing := f.unpointed("c", 3, lease.ID()) // a start that has not moved the pointer yet
	j := runs.NewJanitor(f.store, runs.JanitorConfig{})
	f.sweep(j)
	require.Equal(t, &subjects.End{Superseded: true, Reason: subjects.ReasonSuperseded, NextRunID: newer.RunID}, f.entry(older.RunID).End)
	require.True(t, f.entry(newer.RunID).Active())
	require.True(t, f.entry(racing.RunID).Active())
}

// A producer that died between its end record and its entry is put right.
func TestEndRecordWithoutEntryIsSealed(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	e := f.start("c", 1, "nobody")
	end := subjects.End{Persisted: true, Reason: subjects.ReasonDone}
	r := subjects.EndRecord(end, 0, e.Writer)
	_, err := f.store.Append(t.Context(), e.RunID, &r, e.FirstStreamSeq)
	require.NoError(t, err)
	j := runs.NewJanitor(f.store, runs.JanitorConfig{Lease: time.Millisecond})
	f.sweepUntil(j, func() bool { return !f.entry(e.RunID).Active() })
	require.Equal(t, &end, f.entry(e.RunID).End)
}

func TestEvictionRemovesEverythingOfARun(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	old, active := f.start("old", 1, "p"), f.start("active", 1, "p")
	for _, e := range []*runs.Entry{old, active} {
		f.publish(e)
		seg := subjects.Segment{From: 1, To: 1, StreamSeq: e.FirstStreamSeq + 1, Writer: "w"}
		require.NoError(t, f.store.CreateSegment(t.Context(), e.RunID, 0, seg, []byte(`{"type":"RAW"}`)))
	}
	f.end(old)
	require.Equal(t, 2, f.data(old.RunID))
	f.sweep(runs.NewJanitor(f.store, runs.JanitorConfig{Lease: time.Hour}))
	require.Equal(t, 2, f.data(old.RunID), "the retention is not over")
	f.sweep(runs.NewJanitor(f.store, runs.JanitorConfig{Lease: time.Hour, Retention: time.Nanosecond}))
	require.Zero(t, f.data(old.RunID))
	_, err := f.store.Entry(t.Context(), old.RunID)
	require.ErrorIs(t, err, runs.ErrNotFound)
	p, err := f.store.Pointer(t.Context(), "", "old")
	require.NoError(t, err)
	require.Empty(t, p.RunID)
	require.Equal(t, 2, f.data(active.RunID))
	require.True(t, f.entry(active.RunID).Active())

	// The chat goes on after its pointer was removed.
	again := f.start("old", 1, "p")
	p, err = f.store.Pointer(t.Context(), "", "old")
	require.NoError(t, err)
	require.Equal(t, again.RunID, p.RunID)
}

func TestOwnerKeepsItsNewestEndedRuns(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	var all []*runs.Entry
	for i := range 8 {
		all = append(all, f.start(fmt.Sprint("chat", i), 1, "p"))
	}
	for _, e := range all[:7] {
		f.end(e)
	}
	f.sweep(runs.NewJanitor(f.store, runs.JanitorConfig{Lease: time.Hour, MaxEndedPerOwner: 3}))
	var kept []int
	for i, e := range all {
		if _, err := f.store.Entry(t.Context(), e.RunID); err == nil {
			kept = append(kept, i)
		}
	}
	require.Equal(t, []int{4, 5, 6, 7}, kept)
}

// Runs that name no owner are not one owner's: only time takes them, unless the
// operator says otherwise.
func TestRunsWithoutAnOwnerAreKeptForTheirTime(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	var all []*runs.Entry
	for i := range subjects.MaxEndedPerOwner + 2 {
		e := &runs.Entry{RunID: f.store.NewRunID(), ChatID: fmt.Sprint(i), End: &subjects.End{}}
		require.NoError(t, f.store.CreateEntry(t.Context(), e))
		all = append(all, e)
	}
	f.sweep(runs.NewJanitor(f.store, runs.JanitorConfig{}))
	for _, e := range all {
		f.entry(e.RunID)
	}
	f.sweep(runs.NewJanitor(f.store, runs.JanitorConfig{MaxEndedPerOwner: 1}))
	kept := 0
	for _, e := range all {
		if _, err := f.store.Entry(t.Context(), e.RunID); err == nil {
			kept++
		}
	}
	require.Equal(t, 1, kept)
}

// While an older run of a chat is kept, the newer one that the pointer names is too.
func TestOlderRunOfAChatLeavesFirst(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	lease := f.store.NewLease(time.Hour)
	require.NoError(t, lease.Renew(t.Context()))
	older := f.unpointed("c", 1, lease.ID())
	newer := f.start("c", 1, lease.ID()) // of the same generation: nothing supersedes older
	newer.Generation = 2
	require.NoError(t, f.store.UpdateEntry(t.Context(), newer))
	f.end(newer)
	j := runs.NewJanitor(f.store, runs.JanitorConfig{Retention: time.Nanosecond})
	f.sweep(j)
	require.False(t, f.entry(newer.RunID).Active(), "kept")
	f.end(older)
	f.sweep(j)
	for _, e := range []*runs.Entry{older, newer} {
		_, err := f.store.Entry(t.Context(), e.RunID)
		require.ErrorIs(t, err, runs.ErrNotFound)
	}
}
