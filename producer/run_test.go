package producer_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
)

func TestWhatIsPublishedIsInTheLogInOrder(t *testing.T) {
	t.Parallel()
	p := newProcess(t, broker(t, natsd.Config{}), producer.Config{})
	r := p.start(t, "c")
	var want [][]byte
	for i := range 1000 {
		seq, err := r.Publish(within(t), text(i))
		require.NoError(t, err)
		require.EqualValues(t, i+1, seq)
		want = append(want, text(i))
	}
	stored, err := r.Flush(within(t))
	require.NoError(t, err)
	require.EqualValues(t, 1000, stored)

	end, err := r.Finish(within(t), producer.FinishOptions{Persisted: true})
	require.NoError(t, err)
	require.Equal(t, subjects.End{Persisted: true, Reason: subjects.ReasonDone}, end)

	got, logged := p.events(t, r.ID())
	require.Equal(t, want, got)
	require.Equal(t, &end, logged)
	e, err := p.store.Entry(within(t), r.ID())
	require.NoError(t, err)
	require.Equal(t, runs.StateEnded, e.State)
	require.Equal(t, &end, e.End)
	require.EqualValues(t, 1000, e.Seq)
	covered := uint64(0)
	for seg, err := range p.store.Segments(within(t), r.ID(), e.Segments) {
		require.NoError(t, err)
		require.Equal(t, covered+1, seg.From)
		covered = seg.To
	}
	require.EqualValues(t, 1000, covered, "an ended run is wholly in segments")
}

func TestCUR04NumbersAreDenseFromManyGoroutines(t *testing.T) {
	t.Parallel()
	for _, writers := range []int{1, 8} {
		t.Run(fmt.Sprint(writers), func(t *testing.T) {
			t.Parallel()
			p := newProcess(t, broker(t, natsd.Config{}), producer.Config{})
			r := p.start(t, "c")
			const n = 10_000
			byseq := make([]int, n+1) // which event got which number
			var mu sync.Mutex
			var wg sync.WaitGroup
			for w := range writers {
				wg.Go(func() {
					var last uint64
					for i := w; i < n; i += writers {
						seq, err := r.Publish(within(t), custom(i))
						if err != nil || seq <= last {
							t.Errorf("event %d: seq %d after %d, %v", i, seq, last, err)
							return
						}
						last = seq
						mu.Lock()
						byseq[seq] = i + 1
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			_, err := r.Finish(within(t), producer.FinishOptions{})
			require.NoError(t, err)
			got, _ := p.events(t, r.ID())
			first := n - len(got)
			for i, e := range got {
				require.Equal(t, string(custom(byseq[first+i+1]-1)), string(e))
			}
			require.Equal(t, n, p.covered(t, r.ID()))
		})
	}
}

// "Two producers restarted within one millisecond": ids of runs are unique too.
func TestCUR04RunIDsAreUnique(t *testing.T) {
	t.Parallel()
	p := newProcess(t, broker(t, natsd.Config{}), producer.Config{})
	seen := map[subjects.RunID]bool{}
	for range 10_000 {
		id := p.store.NewRunID()
		require.False(t, seen[id])
		seen[id] = true
	}
}
