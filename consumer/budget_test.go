package consumer_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
)

// holdings follows what a hub holds.
type holdings struct{ held, most, waiting atomic.Int64 }

func (h *holdings) told(bytes int64, waiting int) {
	h.held.Store(bytes)
	h.most.Store(max(h.most.Load(), bytes)) // told one at a time
	h.waiting.Store(int64(waiting))
}

// heavy publishes n events of 100 KiB, each a record.
func (r *run) heavy(n int) {
	for range n {
		r.seq++
		event := fmt.Sprintf(`{"type":"CUSTOM","name":"heavy","value":"%d%s"}`, r.seq, strings.Repeat("x", 100<<10))
		r.all = append(r.all, event)
		r.append(subjects.Record{Kind: subjects.KindEvents, Last: r.seq, Count: 1, Body: []byte(event)})
	}
}

// Readers that have stopped in the middle of a page hold what the hub may hold; others
// wait for them, and for nothing else, and all have everything in the end.
func TestCatchUpsHoldABoundedAmount(t *testing.T) {
	t.Parallel()
	var h holdings
	f := newFabric(t, consumer.HubConfig{MaxBytes: 3 << 20, Metrics: consumer.HubMetrics{Held: h.told}})
	r := f.start("c", 1)
	r.heavy(40)
	var stopped []*consumer.Reader
	for range 2 {
		reader := r.open(r.cursor(0))
		_, ok, err := reader.Poll(t.Context())
		require.NoError(t, err)
		require.True(t, ok)
		stopped = append(stopped, reader)
	}
	var wg sync.WaitGroup
	for range 20 {
		reader := r.open(r.cursor(0))
		wg.Go(func() {
			for seq := uint64(0); seq < r.seq; seq++ {
				frame, err := reader.Next(t.Context())
				if err != nil || frame.Seq != seq+1 {
					t.Errorf("%d after %d: %v", frame.Seq, seq, err)
					return
				}
			}
		})
	}
	require.Eventually(t, func() bool { return h.waiting.Load() > 10 }, patience, 1e6)
	for _, reader := range stopped {
		require.Positive(t, h.held.Load())
		require.False(t, reader.Overdue(), "not for so short a time")
		reader.Close()
	}
	wg.Wait()
	require.LessOrEqual(t, h.most.Load(), int64(4<<20), "the limit, and what pages were larger than expected")
	require.Eventually(t, func() bool { return h.waiting.Load() == 0 }, patience, 1e6)
}

// Whoever needs the snapshot of a run while it is in use gets the same one, a poller and
// an observer alike; nothing is held once all have let go.
func TestSnapshotsAreSharedAndGivenBack(t *testing.T) {
	t.Parallel()
	var h holdings
	f := newFabric(t, consumer.HubConfig{MaxBytes: 1 << 20, Metrics: consumer.HubMetrics{Held: h.told}})
	r := f.start("c", 1)
	r.heavy(30) // three times what may be held: it is alone then
	reader := r.open(consumer.ReadOptions{})
	frame, ok, err := reader.Poll(t.Context())
	require.NoError(t, err)
	require.True(t, ok)
	polled, err := f.hub.Snapshot(t.Context(), r.entry)
	require.NoError(t, err)
	require.Same(t, &frame.Parts[0][0], &polled.Events[0][0])
	require.EqualValues(t, frame.Parts.Len(), h.held.Load())

	reader.Close()
	reader.Close()
	require.EqualValues(t, polled.Events.Len(), h.held.Load(), "the poller still has it")
	r.heavy(1)
	waits := make(chan error, 1)
	go func() {
		newer, err := f.hub.Snapshot(t.Context(), r.entry) // nothing older is good enough for one who polls
		if err == nil && (newer.Seq != r.seq || newer.Events.Len() <= polled.Events.Len()) {
			err = fmt.Errorf("at %d of %d", newer.Seq, r.seq)
		}
		newer.Release()
		waits <- err
	}()
	require.Eventually(t, func() bool { return h.waiting.Load() == 1 }, patience, 1e6)
	require.Empty(t, waits)
	polled.Release()
	polled.Release()
	require.NoError(t, <-waits)
	require.Zero(t, h.held.Load())
}

// A herd that needs the snapshot of one run makes it once, and one who leaves while it is
// being made leaves it to the others.
func TestAHerdMakesOneSnapshot(t *testing.T) {
	t.Parallel()
	var h holdings
	f := newFabric(t, consumer.HubConfig{MaxBytes: 1 << 20, Metrics: consumer.HubMetrics{Held: h.told}})
	other := f.start("other", 1)
	other.heavy(20)
	blocker, err := f.hub.Snapshot(t.Context(), other.entry) // nothing is built until it is released
	require.NoError(t, err)
	r := f.start("c", 1)
	r.heavy(20)
	gone, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	first := r.open(consumer.ReadOptions{})
	go func() {
		_, _, err := first.Poll(gone)
		left <- err
	}()
	require.Eventually(t, func() bool { return h.waiting.Load() == 1 }, patience, 1e6)
	const herd = 50
	got := make(chan consumer.Frame, herd)
	for range herd {
		reader := r.open(consumer.ReadOptions{})
		go func() {
			frame, err := reader.Next(t.Context())
			if err != nil {
				t.Error(err)
			}
			got <- frame
		}()
	}
	leave()
	require.ErrorIs(t, <-left, context.Canceled)
	blocker.Release()
	one := <-got
	require.Equal(t, 20, bytes.Count(one.Parts.Join(), []byte{'\n'})+1)
	for range herd - 1 {
		require.Same(t, &one.Parts[0][0], &(<-got).Parts[0][0])
	}
}
