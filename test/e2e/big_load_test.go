package e2e_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/test/harness"
)

// CUR-04: ten thousand events as fast as one goroutine, or eight, can publish them. Every number is
// given out once and without a gap, and from any cursor the rest is exactly what was
// published under the numbers that follow.
func TestCUR04_NumbersAreUniqueUnderLoad(t *testing.T) {
	t.Parallel()
	for _, goroutines := range []int{1, 8} {
		t.Run(fmt.Sprint(goroutines), func(t *testing.T) {
			t.Parallel()
			ctx := bounded(t)
			f := harness.New(t, harness.Config{})
			relay := f.Relay(harness.RelayConfig{})
			run := f.Start(f.Producer(f.Connect()), "chat")
			const events = 10_000
			published := make([]atomic.Pointer[string], events+1)
			var publishing sync.WaitGroup
			for g := range goroutines {
				publishing.Go(func() {
					for i := g; i < events; i += goroutines {
						e := fmt.Sprintf(`{"type":"CUSTOM","name":"load","value":%d}`, i)
						seq, err := run.Publish(ctx, []byte(e))
						if err != nil || seq == 0 || seq > events || published[seq].Swap(&e) != nil {
							t.Errorf("event %d got the number %d: %v", i, seq, err)
							return
						}
					}
				})
			}
			publishing.Wait()
			stored, err := run.Flush(ctx)
			require.NoError(t, err)
			require.EqualValues(t, events, stored)
			want := make([]string, events)
			for i := range want {
				want[i] = *published[i+1].Load()
			}
			for after := events; after >= 0; after -= 833 {
				got := from(run.ID(), want[:after])
				c := watch(t, relay.URL, harness.Live("chat", "run_id", run.ID(), "after_seq", after, "synced", true))
				for f := got.frame(t, c); f.Type.String() != "STREAM_SYNCED"; f = got.frame(t, c) {
				}
				c.Close()
				require.Equal(t, want, got.events, "after %d", after)
			}
		})
	}
}

// CUR-04: a run goes from one producer to the next, again and again, within the same
// millisecond where that can be. The numbers go on where they were.
func TestCUR04_NumbersGoOnAcrossProducers(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	f := harness.New(t, harness.Config{})
	relay := f.Relay(harness.RelayConfig{})
	producers := []*producer.Producer{f.Producer(f.Connect()), f.Producer(f.Connect())}
	run := f.Start(producers[0], "chat")
	const turns, each = 40, 25
	f.Publish(run, 1, each)
	live := readTo(ctx, t, relay, each)
	for i := range uint64(turns) {
		if i > 0 {
			f.Publish(run, i*each+1, (i+1)*each)
		}
		if i%2 == 0 { // else it is taken without having been given up
			require.NoError(t, run.Release(ctx))
		}
		next, err := producers[(i+1)%2].Resume(ctx, run.ID())
		require.NoError(t, err)
		before := run
		run = next
		_, err = before.Publish(ctx, harness.Delta(0))
		if err == nil { // it has not noticed yet
			_, err = before.Flush(ctx)
		}
		require.True(t, errors.Is(err, producer.ErrFenced) || errors.Is(err, producer.ErrClosed), err)
	}
	finish(t, run, true)
	require.NoError(t, live.o.ToEnd(ctx, live.from))
	require.NoError(t, live.o.Holds(turns*each))
	stored := readFrom(ctx, t, relay, run.ID(), 0)
	require.NoError(t, stored.o.ToEnd(ctx, stored.from))
	require.NoError(t, stored.o.Holds(turns*each))
	require.Equal(t, turns*each, stored.o.Events)
}
