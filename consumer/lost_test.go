package consumer_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
)

// empty takes every record of every run away, as a broker does that lost its store.
func (f *fabric) empty() {
	f.t.Helper()
	js, err := jetstream.New(f.store.Conn())
	require.NoError(f.t, err)
	s, err := js.Stream(f.t.Context(), subjects.RunsStream(0))
	require.NoError(f.t, err)
	require.NoError(f.t, s.Purge(f.t.Context()))
}

// A broker that says that a log is gone, and then has it, as one may that comes up,
// costs no reader anything: no event, no early end.
func TestLogThatWasOutOfSightIsReadOn(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{Silence: 50 * time.Millisecond})
	r := f.start("c", 1)
	r.publish(5)
	reader := r.open(consumer.ReadOptions{})
	o := &observer{t: t}
	for range 2 { // a reader's second loss is like its first
		o.until(reader, r.seq)
		o.poll(reader)
		f.empty()
		<-reader.Changed() // it has learned that the log is gone
		r.prev = 0
		f.deafen()
		r.publish(3)
		r.publish(3)
		o.until(reader, r.seq)
	}
	r.finish(subjects.End{Persisted: true, Reason: subjects.ReasonDone})
	o.toEnd(reader)
	require.Equal(t, r.text(17), o.text)
	require.Equal(t, 1, o.snapshots)
}

// Eviction takes the log first and the entry last. Whoever comes or reads in between
// is sent away: a run that was saved does not end before its last event.
func TestReadersInTheMiddleOfAnEviction(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{Silence: 50 * time.Millisecond})
	r := f.start("c", 1)
	r.large(600) // more than the tail holds
	slow := r.open(r.cursor(0))
	o := &observer{t: t}
	o.until(slow, 1)
	r.finish(subjects.End{Persisted: true, Reason: subjects.ReasonDone})
	f.empty()
	last := r.open(r.cursor(600))
	for _, reader := range []*consumer.Reader{slow, r.open(r.cursor(300)), r.open(consumer.ReadOptions{})} {
		for err := error(nil); err == nil; {
			var frame consumer.Frame
			frame, err = reader.Next(t.Context())
			require.NotEqual(t, consumer.Snapshot, frame.Type)
			if err != nil {
				require.ErrorIs(t, err, consumer.ErrGone)
			}
		}
		reader.Close()
	}
	_, err := f.hub.Snapshot(t.Context(), r.entry)
	require.ErrorIs(t, err, consumer.ErrGone)
	has := &observer{t: t, seq: 600}
	has.toEnd(last) // it lacks nothing
	last.Close()

	require.NoError(t, f.store.Evict(t.Context(), r.entry.RunID))
	for _, opt := range []consumer.ReadOptions{{}, r.cursor(0), r.cursor(600)} {
		_, err := f.hub.Open(t.Context(), r.entry, opt)
		require.ErrorIs(t, err, consumer.ErrGone)
	}
	_, err = f.hub.Snapshot(t.Context(), r.entry)
	require.ErrorIs(t, err, consumer.ErrGone)
}

// What the segments hold outlives the log, and so does the end.
func TestSegmentsOutliveTheLog(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{Silence: 50 * time.Millisecond})
	r := f.start("c", 1)
	r.publish(100)
	r.checkpoint()
	r.publish(50)
	r.checkpoint()
	r.publish(10)
	open := r.open(consumer.ReadOptions{})
	o := &observer{t: t}
	o.until(open, 160)
	end := subjects.End{Reason: subjects.ReasonError}
	f.empty()
	_, err := f.store.EndRun(t.Context(), r.entry.RunID, end)
	require.NoError(t, err)
	o.toEnd(open)
	open.Close()
	require.Equal(t, r.text(160), o.text)
	require.Equal(t, end, o.end.End)
	for _, opt := range []consumer.ReadOptions{{}, r.cursor(0), r.cursor(149), r.cursor(150)} {
		late := &observer{t: t}
		if opt.Cursor != nil {
			late.seq, late.text = opt.Cursor.AfterSeq, r.text(opt.Cursor.AfterSeq)
		}
		late.toEnd(r.open(opt))
		require.Equal(t, r.text(150), late.text)
		require.Equal(t, end, late.end.End)
	}
	snap, err := f.hub.Snapshot(t.Context(), r.entry)
	require.NoError(t, err)
	require.EqualValues(t, 150, snap.Seq)
	require.Equal(t, &end, snap.End)
}

// A log whose whole stream is deleted while a reader is behind ends the reader, also when
// the end was heard and nobody asks any more.
func TestDeletedStreamEndsItsReaders(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{})
	r := f.start("c", 1)
	r.large(900) // more than the tail and a page hold
	reader := r.open(r.cursor(0))
	o := &observer{t: t}
	o.until(reader, 1)
	r.finish(subjects.End{Reason: subjects.ReasonStopped})
	last := &observer{t: t, seq: 900}
	last.toEnd(r.open(r.cursor(900))) // the tail knows
	js, err := jetstream.New(f.store.Conn())
	require.NoError(t, err)
	require.NoError(t, js.DeleteStream(t.Context(), subjects.RunsStream(0)))
	o.toEnd(reader)
	require.Equal(t, r.text(o.seq), o.text)
	require.Equal(t, subjects.ReasonStopped, o.end.End.Reason)
}

// Segments that hold less than an observer has take nothing away from it.
func TestLostLogTakesNothingAway(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{Silence: 50 * time.Millisecond})
	r := f.start("c", 1)
	r.publish(150)
	r.checkpoint()
	r.publish(5)
	reader := r.open(consumer.ReadOptions{})
	o := &observer{t: t}
	o.until(reader, 155)
	o.poll(reader)
	f.deafen()
	changed := reader.Changed()
	r.publish(2)
	r.publish(3)
	<-changed // it is known that there is more
	f.empty()
	_, err := f.store.EndRun(t.Context(), r.entry.RunID, subjects.End{Reason: subjects.ReasonError})
	require.NoError(t, err)
	o.toEnd(reader)
	require.Equal(t, 1, o.snapshots)
	require.GreaterOrEqual(t, o.seq, uint64(155))
	require.Equal(t, r.text(o.seq), o.text)
}

// A hub that is closed under its readers wakes them.
func TestHubClosedUnderItsReaders(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{})
	r := f.start("c", 1)
	r.publish(1)
	reader := r.open(consumer.ReadOptions{})
	o := &observer{t: t}
	o.until(reader, 1)
	waited := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_, err := reader.Next(ctx)
		waited <- err
	}()
	f.hub.Close()
	require.ErrorIs(t, <-waited, consumer.ErrBrokerUnavailable)
	_, err := f.hub.Open(t.Context(), r.entry, consumer.ReadOptions{})
	require.ErrorIs(t, err, consumer.ErrBrokerUnavailable)
}
