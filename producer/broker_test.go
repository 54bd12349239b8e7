package producer_test

import (
	"context"
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

	accepted := 0
	for err == nil {
		ctx, cancel := context.WithTimeout(within(t), time.Second)
		if _, err = r.Publish(ctx, custom(accepted+1)); err == nil {
			accepted++
		}
		cancel()
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
	for range 100 { // it does not creep past the limit: callers that wait are only seen by the time in which nothing comes
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
