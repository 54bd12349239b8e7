package consumer_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
)

// An observer that comes back finds what it missed in memory, even while there is no broker.
func TestComingBackNeedsNoBroker(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{})
	r := f.start("c", 1)
	r.publish(1)
	o := &observer{t: t}
	reader := r.open(r.cursor(0))
	o.until(reader, 1)
	reader.Close()
	for range 20 {
		r.publish(2)
	}
	f.heard(r, 41)
	f.server.Shutdown()
	reader, err := f.hub.Open(t.Context(), r.entry, r.cursor(1))
	require.NoError(t, err)
	defer reader.Close()
	o.until(reader, 41)
	require.Equal(t, r.text(41), o.text)
	require.Zero(t, o.snapshots)
}

// The snapshot of a hot run is made of what is at hand, too.
func TestSnapshotOfAHotRunNeedsNoBroker(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{})
	r := f.start("c", 1)
	for range 4 {
		r.publish(40)
		r.checkpoint()
	}
	r.publish(3)
	for _, down := range []bool{false, true} {
		if down {
			r.publish(5)
			f.heard(r, 168)
			f.server.Shutdown()
		}
		o := &observer{t: t}
		reader, err := f.hub.Open(t.Context(), r.entry, consumer.ReadOptions{})
		require.NoError(t, err)
		o.until(reader, r.seq)
		reader.Close()
		require.Equal(t, r.text(r.seq), o.text)
		require.Equal(t, 1, o.snapshots)
	}
}

// What was published while nobody looked, and was not heard either, is asked for.
func TestComingBackToATailThatMissedSomething(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{Silence: time.Hour})
	r := f.start("c", 1)
	r.publish(3)
	o := &observer{t: t}
	reader := r.open(r.cursor(0))
	o.until(reader, 3)
	reader.Close()
	f.deafen()
	r.publish(4)
	r.finish(subjects.End{Reason: subjects.ReasonDone})
	reader = r.open(r.cursor(3))
	defer reader.Close()
	o.toEnd(reader)
	require.Equal(t, r.text(7), o.text)
}

// What a reader had to read of the log serves those who come after it.
func TestTheLogIsReadOnceForAllWhoComeBack(t *testing.T) {
	t.Parallel()
	replayed := make(chan int, 100)
	f := newFabric(t, consumer.HubConfig{Silence: time.Hour,
		Metrics: consumer.HubMetrics{Replay: func(n int) { replayed <- n }}})
	r := f.start("c", 1)
	for range 150 {
		r.publish(1)
	}
	for range 3 {
		o := &observer{t: t}
		reader := r.open(r.cursor(20))
		o.seq, o.text = 20, r.text(20)
		o.until(reader, 150)
		require.Equal(t, r.text(150), o.text)
		reader.Close()
	}
	require.Len(t, replayed, 1)
}

// A cursor far from every mark is found by a guess, and where the guess is wrong, all the same.
func TestCursorsBetweenMarks(t *testing.T) {
	t.Parallel()
	var read int
	f := newFabric(t, consumer.HubConfig{Linger: -1,
		Metrics: consumer.HubMetrics{Replay: func(n int) { read += n }}})
	steady, bursts := f.start("steady", 1), f.start("bursts", 1)
	for range 60 {
		bursts.publish(30)
	}
	for range 400 {
		steady.publish(1)
		bursts.publish(1)
	}
	for _, r := range []*run{steady, bursts} {
		for after := uint64(0); after < r.seq; after += 37 {
			o := &observer{t: t, seq: after, text: r.text(after)}
			reader := r.open(r.cursor(after))
			read = 0
			o.until(reader, r.seq)
			reader.Close()
			require.Equal(t, r.text(r.seq), o.text)
			require.Zero(t, o.snapshots)
			if r == steady {
				require.Less(t, read, int(r.seq-after)*5/4+40)
			}
		}
	}
}

// The end of a run may stand far behind its last event, where others write much: the place
// that is guessed then holds nothing of the run.
func TestAnEndFarBehindTheLastEvent(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{Linger: -1})
	r, others := f.start("c", 1), f.start("others", 1)
	for range 120 {
		r.publish(1)
	}
	for range 2000 {
		others.publish(1)
	}
	r.finish(subjects.End{Reason: subjects.ReasonDone})
	for _, after := range []uint64{40, 80, 119} {
		o := &observer{t: t, seq: after, text: r.text(after)}
		reader := r.open(r.cursor(after))
		page, ok, err := reader.Poll(t.Context())
		require.NoError(t, err)
		require.True(t, ok)
		o.apply(page)
		o.toEnd(reader)
		reader.Close()
		require.Equal(t, r.text(120), o.text)
		require.Zero(t, o.snapshots)
	}
}

// heard waits until the hub has heard of an event.
func (f *fabric) heard(r *run, seq uint64) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	reader, err := f.hub.Open(ctx, r.entry, consumer.ReadOptions{Cursor: &consumer.Cursor{RunID: r.entry.RunID, AfterSeq: 1}})
	require.NoError(f.t, err)
	defer reader.Close()
	for {
		frame, err := reader.Next(ctx)
		require.NoError(f.t, err)
		if frame.Seq >= seq {
			return
		}
	}
}
