package producer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
)

// The broker is stopped for three seconds at event 50.
func TestDUP04TheBrokerStopsAtEvent50(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	p := newProcess(t, s, producer.Config{})
	r := p.start(t, "c")
	var restarted sync.WaitGroup
	var want [][]byte
	for i := 1; i <= 100; i++ {
		if i == 50 {
			s.Stop()
			restarted.Go(func() {
				time.Sleep(3 * time.Second) // the fault's length, not a wait for anything
				_ = s.Restart()
			})
		}
		seq, err := r.Publish(within(t), custom(i))
		require.NoError(t, err)
		require.EqualValues(t, i, seq)
		want = append(want, custom(i))
		if i < 50 {
			_, err = r.Flush(within(t)) // each its own record
			require.NoError(t, err)
		}
	}
	stored, err := r.Flush(within(t))
	require.NoError(t, err)
	require.EqualValues(t, 100, stored)
	restarted.Wait()
	got, _ := p.events(t, r.ID())
	require.Equal(t, want, got)
}

// Acks are lost, again and again: what the broker stored is not stored twice.
func TestDUP04OnlyTheAckIsLost(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{Listen: "127.0.0.1:0"})
	px := newProxy(t, s)
	nc, err := nats.Connect(px.url(), nats.MaxReconnects(-1), nats.ReconnectWait(5*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	p := newProcessOn(t, nc, producer.Config{})
	r := p.start(t, "c")
	direct := newProcess(t, s, producer.Config{})
	var want [][]byte
	for i := 1; i <= 30; i++ {
		lose := i%3 == 0
		if lose {
			px.lose()
		}
		_, err := r.Publish(within(t), custom(i))
		require.NoError(t, err)
		want = append(want, custom(i))
		if lose {
			// It is stored, and the producer cannot know.
			require.Eventually(t, func() bool {
				last, err := direct.store.Last(within(t), r.ID())
				return err == nil && last.Last == uint64(i)
			}, patience, time.Millisecond)
			px.cut()
		}
		_, err = r.Flush(within(t))
		require.NoError(t, err)
	}
	end, err := r.Finish(within(t), producer.FinishOptions{Persisted: true})
	require.NoError(t, err)
	require.True(t, end.Persisted)
	got, _ := p.events(t, r.ID())
	require.Equal(t, want, got)
}

// Connections break at random times while events are published as fast as they go.
func TestWhatWasAckedIsInTheLogOnceWhateverBreaks(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{Listen: "127.0.0.1:0"})
	px := newProxy(t, s)
	nc, err := nats.Connect(px.url(), nats.MaxReconnects(-1), nats.ReconnectWait(5*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	p := newProcessOn(t, nc, producer.Config{})
	r := p.start(t, "c")
	ctx, stop := context.WithCancel(within(t))
	var trouble sync.WaitGroup
	trouble.Go(func() {
		for ctx.Err() == nil {
			time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond)
			if rand.IntN(2) == 0 {
				px.lose()
				time.Sleep(time.Duration(rand.IntN(5)) * time.Millisecond)
			}
			px.cut()
		}
	})
	const n = 30_000
	for i := 1; i <= n; i++ {
		seq, err := r.Publish(within(t), text(i))
		require.NoError(t, err)
		require.EqualValues(t, i, seq)
		if i%1000 == 0 {
			time.Sleep(5 * time.Millisecond) // so that the trouble meets small records too
		}
	}
	stop()
	trouble.Wait()
	_, err = r.Finish(within(t), producer.FinishOptions{})
	require.NoError(t, err)
	require.Equal(t, n, p.covered(t, r.ID()))
	got, _ := p.events(t, r.ID())
	for i := range got {
		require.Equal(t, string(text(n-len(got)+i+1)), string(got[i]))
	}
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

// The stream is gone: the run ends with a visible error and publishing with a typed one.
func TestBRK03TheStreamIsDeleted(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	p := newProcess(t, s, producer.Config{})
	r := p.start(t, "c")
	_, err := r.Publish(within(t), text(1))
	require.NoError(t, err)
	_, err = r.Flush(within(t))
	require.NoError(t, err)
	js, err := jetstream.New(p.nc)
	require.NoError(t, err)
	require.NoError(t, js.DeleteStream(within(t), subjects.RunsStream(r.ID().Partition())))
	_, err = r.Publish(within(t), text(2))
	require.NoError(t, err)
	_, err = r.Flush(within(t))
	require.ErrorIs(t, err, producer.ErrLogLost)
	_, err = r.Publish(within(t), text(3))
	require.ErrorIs(t, err, producer.ErrLogLost)
	require.NoError(t, r.Close())
	e, err := p.store.Entry(within(t), r.ID())
	require.NoError(t, err)
	require.Equal(t, &subjects.End{Reason: subjects.ReasonError}, e.End)
}

// The store is full: nothing is lost, and the producer holds no more than its buffer.
func TestBRK03TheStoreIsFull(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	p := newProcess(t, s, producer.Config{MaxPendingEvents: 10})
	r := p.start(t, "c")
	js, err := jetstream.New(p.nc)
	require.NoError(t, err)
	full := subjects.RunsConfig(r.ID().Partition(), 1)
	full.MaxBytes, full.Discard = 2000, jetstream.DiscardNew
	_, err = js.UpdateStream(within(t), full)
	require.NoError(t, err)

	ctx, cancel := context.WithTimeout(within(t), time.Second)
	defer cancel()
	accepted := 0
	for ctx.Err() == nil {
		if _, err = r.Publish(ctx, custom(accepted+1)); err == nil {
			accepted++
		}
	}
	require.ErrorIs(t, err, context.DeadlineExceeded, "the caller waits")
	require.LessOrEqual(t, accepted-int(r.StoredSeq()), 10)

	full.MaxBytes = -1
	_, err = js.UpdateStream(within(t), full)
	require.NoError(t, err)
	stored, err := r.Flush(within(t))
	require.NoError(t, err)
	require.EqualValues(t, accepted, stored)
	got, _ := p.events(t, r.ID())
	require.Len(t, got, accepted)
}

func TestTheBufferIsBoundedWhileTheBrokerIsAway(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	p := newProcess(t, s, producer.Config{MaxPendingBytes: 64 << 10})
	r := p.start(t, "c")
	s.Stop()
	var accepted atomic.Int64
	var wg sync.WaitGroup
	publishing, cancel := context.WithCancel(within(t))
	defer cancel()
	const total = 3000
	for range 4 {
		wg.Go(func() {
			for i := range total / 4 {
				if _, err := r.Publish(publishing, text(i)); err != nil {
					t.Error(err)
					return
				}
				accepted.Add(1)
			}
		})
	}
	limit := int64(64<<10/len(text(0)) + 1)
	require.Eventually(t, func() bool { return accepted.Load() > limit/2 }, patience, time.Millisecond)
	for range 100 { // it does not creep past the limit
		require.LessOrEqual(t, accepted.Load(), limit)
		time.Sleep(time.Millisecond)
	}
	require.NoError(t, s.Restart())
	wg.Wait()
	stored, err := r.Flush(within(t))
	require.NoError(t, err)
	require.EqualValues(t, total, stored)
}

// The process is gone without a word: what was acked is there, and another goes on.
func TestTheConnectionIsClosedUnderTheProducer(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	a, b := newProcess(t, s, producer.Config{}), newProcess(t, s, producer.Config{})
	r := a.start(t, "c")
	for i := 1; i <= 700; i++ {
		_, err := r.Publish(within(t), custom(i))
		require.NoError(t, err)
	}
	acked, err := r.Flush(within(t))
	require.NoError(t, err)
	a.nc.Close()
	_, err = r.Publish(within(t), custom(701))
	require.NoError(t, err)
	_, err = r.Flush(within(t))
	require.ErrorIs(t, err, nats.ErrConnectionClosed)

	next, err := b.Resume(within(t), r.ID())
	require.NoError(t, err)
	require.Equal(t, acked, next.LastSeq())
	seq, err := next.Publish(within(t), custom(701))
	require.NoError(t, err)
	require.EqualValues(t, 701, seq)
	_, err = next.Finish(within(t), producer.FinishOptions{Persisted: true})
	require.NoError(t, err)
	got, end := b.events(t, r.ID())
	require.Len(t, got, 701)
	require.True(t, end.Persisted)
}
