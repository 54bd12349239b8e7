package consumer_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
)

func TestReaderGoesFromSnapshotToLiveToEnd(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{})
	r := f.start("c", 1)
	r.publish(3)
	reader := r.open(consumer.ReadOptions{Synced: true})
	o := &observer{t: t}
	o.until(reader, 3)
	require.Equal(t, 1, o.snapshots)
	synced, err := reader.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, consumer.Frame{Type: consumer.Synced, RunID: r.entry.RunID, Seq: 3}, synced)
	_, ok, err := reader.Poll(t.Context())
	require.NoError(t, err)
	require.False(t, ok)
	r.publish(1)
	r.publish(2)
	o.until(reader, 6)
	r.finish(subjects.End{Persisted: true, Reason: subjects.ReasonDone})
	o.toEnd(reader)
	require.Equal(t, r.text(6), o.text)
	require.Equal(t, 1, o.snapshots)
	require.True(t, o.end.End.Persisted)
}

func TestReaderFromEveryCursor(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{})
	r := f.start("c", 1)
	for i := range 40 {
		r.publish(1 + i%7)
		if i%9 == 8 {
			r.checkpoint()
		}
	}
	r.finish(subjects.End{Reason: subjects.ReasonDone})
	for after := range r.seq + 1 {
		o := &observer{t: t, seq: after, text: r.text(after)}
		reader := r.open(r.cursor(after))
		o.toEnd(reader)
		reader.Close()
		require.Equal(t, 0, o.snapshots, "cursor %d", after)
		require.Equal(t, r.text(r.seq), o.text, "cursor %d", after)
	}
	for _, bad := range []uint64{r.seq + 1, r.seq + 1000, subjects.MaxSeq} {
		o := &observer{t: t}
		reader := r.open(r.cursor(bad))
		o.toEnd(reader)
		reader.Close()
		require.Equal(t, 1, o.snapshots, "cursor %d", bad)
		require.Equal(t, r.text(r.seq), o.text, "cursor %d", bad)
	}
}

func TestReaderBehindTheWindowGetsASnapshot(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{})
	f.keep(300)
	r := f.start("c", 1)
	for range 4 {
		for range 100 {
			r.publish(1)
		}
		r.checkpoint()
	}
	for range 5 {
		r.publish(1)
	}
	head := r.seq
	for after, snapshots := range map[uint64]int{0: 1, head - 301: 1, head - 300: 0, head - 299: 0, head - 1: 0, head: 0} {
		o := &observer{t: t, seq: after, text: r.text(after)}
		reader := r.open(r.cursor(after))
		o.until(reader, head)
		reader.Close()
		require.Equal(t, snapshots, o.snapshots, "cursor %d", after)
		require.Equal(t, r.text(head), o.text, "cursor %d", after)
	}
}

// A reader that never polls costs no memory, and is healed when it comes back.
func TestSlowReaderIsHealedByASnapshot(t *testing.T) {
	t.Parallel()
	gaps := make(chan struct{}, 1)
	f := newFabric(t, consumer.HubConfig{GapThreshold: 100, Metrics: consumer.HubMetrics{Gap: func() { gaps <- struct{}{} }}})
	r := f.start("c", 1)
	r.publish(1)
	reader := r.open(consumer.ReadOptions{})
	o := &observer{t: t}
	o.until(reader, 1)
	r.large(700) // more than the tail holds
	r.finish(subjects.End{Reason: subjects.ReasonDone})
	o.toEnd(reader)
	require.Equal(t, 2, o.snapshots)
	require.Equal(t, r.text(701), o.text)
	require.Len(t, gaps, 1)
}

func TestEventInPartsIsOneEvent(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{})
	r := f.start("c", 1)
	r.publish(1)
	live := r.open(consumer.ReadOptions{})
	o := &observer{t: t}
	o.until(live, 1)

	event := delta(2)
	// A writer that dies after the first of three parts …
	r.append(subjects.Record{Kind: subjects.KindPart, Last: 1, Part: 1, Parts: 3, Body: []byte(`{"type":"TEXT_`)})
	r.append(subjects.Record{Kind: subjects.KindTakeover, Last: 1})
	// … and one that begins the event anew.
	for i, part := range []string{event[:20], event[20:30], event[30:]} {
		rec := subjects.Record{Kind: subjects.KindPart, Last: 1, Part: i + 1, Parts: 3, Body: []byte(part)}
		if i == 2 {
			rec.Last, rec.Count = 2, 1
		}
		r.append(rec)
	}
	r.seq = 2
	r.publish(1)
	r.finish(subjects.End{Reason: subjects.ReasonDone})
	o.toEnd(live)
	require.Equal(t, r.text(3), o.text)
	for after := range uint64(4) {
		late := &observer{t: t, seq: after, text: r.text(after)}
		late.toEnd(r.open(r.cursor(after)))
		require.Equal(t, r.text(3), late.text)
	}
	cold := &observer{t: t}
	cold.toEnd(r.open(consumer.ReadOptions{}))
	require.Equal(t, r.text(3), cold.text)
}

// Whatever the moment of attaching, nothing is missed, doubled or out of order.
func TestSEAM01_EventsPublishedDuringTheHandshake(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{})
	r := f.start("c", 1)
	var wg sync.WaitGroup
	for i := range 300 {
		r.publish(1 + i%3)
		if i%50 == 49 {
			r.checkpoint()
		}
		if i%3 != 0 {
			continue
		}
		opt, o := consumer.ReadOptions{}, &observer{t: t}
		if i%2 == 0 {
			after := r.seq / 2
			opt, o = r.cursor(after), &observer{t: t, seq: after, text: r.text(after)}
		}
		e := *r.entry
		wg.Go(func() {
			reader, err := f.hub.Open(t.Context(), &e, opt)
			if err != nil {
				t.Error(err)
				return
			}
			defer reader.Close()
			o.toEnd(reader)
			if o.text != r.text(o.seq) {
				t.Errorf("reader %d ends with another text", i)
			}
		})
	}
	r.finish(subjects.End{Reason: subjects.ReasonDone})
	wg.Wait()
}

// The last record, the end, never arrives live: asking brings it.
func TestSEAM02_MissedTailFollowedBySilence(t *testing.T) {
	t.Parallel()
	found := make(chan struct{}, 10)
	f := newFabric(t, consumer.HubConfig{Silence: 50 * time.Millisecond,
		Metrics: consumer.HubMetrics{SilenceFound: func() { found <- struct{}{} }}})
	r := f.start("c", 1)
	r.publish(2)
	reader := r.open(consumer.ReadOptions{})
	o := &observer{t: t}
	o.until(reader, 2)
	f.deafen()
	r.publish(3)
	o.until(reader, 5)
	r.finish(subjects.End{Reason: subjects.ReasonDone})
	o.toEnd(reader)
	require.Equal(t, r.text(5), o.text)
	require.NotEmpty(t, found)
}

func TestEvictedRunEndsItsReaders(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{Silence: 50 * time.Millisecond})
	r := f.start("c", 1)
	for range 600 {
		r.publish(1)
	}
	reader := r.open(r.cursor(0))
	r.finish(subjects.End{Reason: subjects.ReasonDone})
	require.NoError(t, f.store.Evict(t.Context(), r.entry.RunID))
	var err error
	for err == nil {
		_, err = reader.Next(t.Context())
	}
	require.ErrorIs(t, err, consumer.ErrGone)
}
