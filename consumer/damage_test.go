package consumer_test

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
)

// refused reads until the broker shows less than is known, and returns what was given.
func (o *observer) refused(r *consumer.Reader) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), patience)
	defer cancel()
	for {
		f, err := r.Next(ctx)
		if err != nil {
			require.ErrorIs(o.t, err, consumer.ErrBrokerUnavailable)
			return
		}
		o.apply(f)
	}
}

// A replica that lags shows less than the live subject has told of. The reader is told,
// goes on from where it is once the replica has caught up, and loses nothing.
func TestReplicaThatLags(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{})
	r := f.start("c", 1)
	r.publish(5)
	reader := r.open(consumer.ReadOptions{})
	o := &observer{t: t}
	o.until(reader, 5)
	o.poll(reader)
	f.deafen()
	changed := reader.Changed()
	r.live(subjects.Record{Kind: subjects.KindEvents, Last: 9, Count: 1, Writer: r.entry.Writer, Body: []byte(delta(9))})
	<-changed
	for range 2 {
		o.refused(reader)
		require.EqualValues(t, 5, o.seq)
	}
	cold := r.open(consumer.ReadOptions{})
	late := &observer{t: t}
	late.refused(cold)
	require.Zero(t, late.snapshots, "an incomplete one is none")
	r.publish(2)
	r.publish(2)
	r.finish(subjects.End{Reason: subjects.ReasonDone})
	o.toEnd(reader)
	require.Equal(t, r.text(9), o.text)
	late.toEnd(cold)
	require.Equal(t, r.text(9), late.text)
}

// A log that lost a record in its middle is not read over the hole: segments heal it,
// and without one the reader is told.
func TestHoleInTheLog(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{})
	r := f.start("c", 1)
	r.publish(3)
	r.publish(3)
	hole := r.prev
	r.publish(3)
	js, err := jetstream.New(f.store.Conn())
	require.NoError(t, err)
	s, err := js.Stream(t.Context(), subjects.RunsStream(0))
	require.NoError(t, err)
	require.NoError(t, s.DeleteMsg(t.Context(), hole))

	o := &observer{t: t}
	reader := r.open(r.cursor(0))
	o.refused(reader)
	require.EqualValues(t, 3, o.seq)
	_, err = f.hub.Snapshot(t.Context(), r.entry)
	require.ErrorIs(t, err, consumer.ErrBrokerUnavailable)

	r.checkpoint()
	r.finish(subjects.End{Reason: subjects.ReasonDone})
	for after := range r.seq + 1 {
		late := &observer{t: t, seq: after, text: r.text(after)}
		late.toEnd(r.open(r.cursor(after)))
		require.Equal(t, r.text(9), late.text, "from %d", after)
		require.Equal(t, after < 6, late.snapshots == 1, "from %d", after)
	}
	o.toEnd(reader)
	require.Equal(t, r.text(9), o.text)
}

// What a reader that gives up was waiting for is free for the next one.
func TestReadersThatGiveUpFreeTheirTurn(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{MaxCatchUps: 1, MaxSnapshots: 1})
	r := f.start("c", 1)
	r.large(600) // more than the tail holds
	r.finish(subjects.End{Reason: subjects.ReasonDone})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 3 {
		for _, opt := range []consumer.ReadOptions{{}, r.cursor(0)} {
			reader := r.open(opt)
			if _, ok, err := reader.Poll(gone); !ok { // else another one's snapshot was at hand
				require.ErrorIs(t, err, context.Canceled)
			}
			reader.Close()
			o := &observer{t: t}
			o.toEnd(r.open(opt))
			require.Equal(t, r.text(600), o.text)
		}
	}
}
