package consumer_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
)

// A record whose events are not as many as it says, from a writer with a fault or a
// damaged store. Nobody spins over it, and nobody is given a wrong number: what a
// segment holds heals it, and without one the reader is told that the broker cannot
// serve the run.
func TestRecordThatMiscountsItsEvents(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"too few":   delta(2),
		"too many":  delta(2) + "\n" + delta(3) + "\n" + delta(4),
		"empty":     "",
		"blank":     delta(2) + "\n",
		"two blank": "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFabric(t, consumer.HubConfig{})
			r := f.start("c", 1)
			r.publish(1)
			live := r.open(consumer.ReadOptions{})
			o := &observer{t: t}
			o.until(live, 1)
			r.append(subjects.Record{Kind: subjects.KindEvents, Last: 3, Count: 2, Body: []byte(body)})
			r.seq = 3
			for _, reader := range []*consumer.Reader{live, r.open(r.cursor(1)), r.open(consumer.ReadOptions{})} {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				_, err := reader.Next(ctx)
				cancel()
				require.ErrorIs(t, err, consumer.ErrBrokerUnavailable)
			}

			_, err := r.fold.AddLines([]byte(delta(2) + "\n" + delta(3)))
			require.NoError(t, err)
			r.checkpoint()
			r.publish(1)
			r.finish(subjects.End{Reason: subjects.ReasonDone})
			for _, reader := range []*consumer.Reader{live, r.open(r.cursor(1)), r.open(consumer.ReadOptions{})} {
				healed := &observer{t: t, seq: 1, text: r.text(1)}
				healed.toEnd(reader)
				require.Equal(t, 1, healed.snapshots)
				require.Equal(t, r.text(4), healed.text)
			}
		})
	}
}

// Parts of two events, of which the live subject lost what lies between, make no event.
func TestPartsOfTwoEventsAreNotMixed(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{})
	r := f.start("c", 1)
	reader := r.open(consumer.ReadOptions{})
	o := &observer{t: t}
	o.poll(reader)
	changed := reader.Changed()
	f.deafen()
	one, two := delta(1), delta(2)
	var stored []subjects.Record
	for _, event := range []string{one, two} {
		rec := subjects.Record{Kind: subjects.KindPart, Last: r.seq, Part: 1, Parts: 2, Body: []byte(event[:len(event)-3])}
		stored = append(stored, r.append(rec))
		r.seq++
		rec = subjects.Record{Kind: subjects.KindPart, Last: r.seq, Count: 1, Part: 2, Parts: 2, Body: []byte(event[len(event)-3:])}
		stored = append(stored, r.append(rec))
	}
	r.live(stored[0])
	r.live(stored[3])
	<-changed
	r.finish(subjects.End{Reason: subjects.ReasonDone})
	o.toEnd(reader)
	require.Equal(t, r.text(2), o.text)
}
