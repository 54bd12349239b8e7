package consumer_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/subjects"
)

// says gives the text of a snapshot.
func says(t *testing.T, events []byte) string {
	t.Helper()
	var b strings.Builder
	for line := range agui.Lines(events) {
		var e agui.Event
		require.NoError(t, agui.Scan(line, &e))
		b.Write(e.Delta())
	}
	return b.String()
}

// A segment may end within a record: the rest of that record follows it.
func TestSegmentThatEndsWithinARecord(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{})
	r := f.start("c", 1)
	r.publish(10)
	seg := subjects.Segment{From: 1, To: 4, StreamSeq: r.prev, Writer: "w"}
	body := strings.Join(r.all[:4], "\n")
	require.NoError(t, f.store.CreateSegment(t.Context(), r.entry.RunID, 0, seg, []byte(body)))
	for range 2 {
		snap, err := f.hub.Snapshot(t.Context(), r.entry)
		require.NoError(t, err)
		require.Equal(t, r.seq, snap.Seq)
		require.Nil(t, snap.End)
		require.Equal(t, r.text(r.seq), says(t, snap.Events.Join()))
		r.publish(3)
	}
	o := &observer{t: t}
	o.until(r.open(consumer.ReadOptions{}), r.seq)
	require.Equal(t, r.text(r.seq), o.text)
}

// Segments with a seq between them that none holds make no snapshot.
func TestSegmentsThatDoNotTile(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]uint64{"gap": 6, "overlap": 4} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFabric(t, consumer.HubConfig{})
			r := f.start("c", 1)
			r.publish(10)
			for n, seg := range []subjects.Segment{{From: 1, To: 4}, {From: from, To: 9}} {
				body := strings.Join(r.all[seg.From-1:seg.To], "\n")
				seg.StreamSeq, seg.Writer = r.prev, "w"
				require.NoError(t, f.store.CreateSegment(t.Context(), r.entry.RunID, n, seg, []byte(body)))
			}
			_, err := f.hub.Snapshot(t.Context(), r.entry)
			require.ErrorIs(t, err, consumer.ErrBrokerUnavailable)
		})
	}
}

func TestSnapshotOfARunWithoutEvents(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{})
	r := f.start("c", 1)
	o, early := &observer{t: t}, r.open(consumer.ReadOptions{})
	o.poll(early)
	require.Equal(t, 1, o.snapshots)
	end := subjects.End{Persisted: true, Reason: subjects.ReasonStopped}
	r.finish(end)
	o.toEnd(early)
	for _, opt := range []consumer.ReadOptions{{}, r.cursor(0), r.cursor(7)} {
		late := &observer{t: t}
		late.toEnd(r.open(opt))
		require.Equal(t, end, late.end.End)
		require.Zero(t, late.seq)
	}
	snap, err := f.hub.Snapshot(t.Context(), r.entry)
	require.NoError(t, err)
	require.Zero(t, snap.Seq)
	require.Empty(t, snap.Events)
	require.Equal(t, &end, snap.End)
}

// Snapshots are exact while checkpoints are stored and the log drops what they cover.
func TestSnapshotWhileCheckpointsAreStored(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{})
	f.keep(100)
	r := f.start("c", 1)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		var had uint64
		for {
			snap, err := f.hub.Snapshot(t.Context(), r.entry) // an entry from before all checkpoints
			if err != nil {
				t.Error(err)
				return
			}
			if snap.Seq < had || says(t, snap.Events.Join()) != r.text(snap.Seq) {
				t.Errorf("snapshot at %d after %d is not what was published", snap.Seq, had)
				return
			}
			had = snap.Seq
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	for range 20 {
		for range 50 {
			r.publish(1)
		}
		r.checkpoint()
	}
	close(stop)
	wg.Wait()
}
