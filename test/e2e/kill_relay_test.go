package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/test/harness"
)

// TERM-06: the relay is killed again and again, in the middle of whatever it was sending. No
// reader takes that for the end of the run: each comes back with its cursor and has
// everything when the end comes.
func TestTERM06_AKilledRelayIsNotTheEnd(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	f := harness.New(t, harness.Config{Broker: harness.Networked(t)})
	run := f.Start(f.Producer(f.Connect()), "chat")
	f.Publish(run, 1, 10)
	relay := f.RelayProcess()
	relay.Start()
	relay.Ready()

	const kills, readers = 6, 20
	over := make(chan uint64, readers)
	var frames atomic.Int64
	var attached, reading sync.WaitGroup
	for i := range readers {
		attached.Add(1)
		attach := sync.OnceFunc(attached.Done)
		reading.Go(func() {
			defer attach()
			o := &harness.Observer{}
			s := keen(relay.URL).Watch(ctx, consumer.Watch{ChatID: "chat"})
			defer s.Close()
			err := o.Until(ctx, s, 10)
			attach()
			err = errors.Join(err, o.ToEnd(ctx, counted{s, &frames}), o.Holds(<-over))
			if err != nil {
				t.Errorf("reader %d: %v", i, err)
			}
		})
	}
	attached.Wait()
	stop, published := make(chan struct{}), make(chan error, 1)
	go func() { published <- busily(ctx, run, stop) }()
	for range kills {
		before := frames.Load()
		harness.Eventually(t, "readers are served", func() bool { return frames.Load() > before+500 || t.Failed() })
		time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond) // at any moment
		relay.Kill()
		relay.Start()
		relay.Ready()
	}
	close(stop)
	require.NoError(t, <-published)
	total := run.LastSeq()
	finish(t, run, true)
	for range readers {
		over <- total
	}
	reading.Wait()
}

// counted counts the frames it gives.
type counted struct {
	source
	frames *atomic.Int64
}

func (c counted) Next(ctx context.Context) (consumer.Frame, error) {
	c.frames.Add(1)
	return c.source.Next(ctx)
}

// busily publishes numbered text with short rests, so that every kill meets bytes on
// their way, until stop is closed.
func busily(ctx context.Context, run *producer.Run, stop <-chan struct{}) error {
	for {
		for range 40 {
			if _, err := run.Publish(ctx, harness.Delta(run.LastSeq()+1)); err != nil {
				return fmt.Errorf("event %d: %w", run.LastSeq()+1, err)
			}
		}
		select {
		case <-stop:
			return nil
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// SLOW-03: a relay that is killed with many readers leaves nothing behind on the
// broker: no connection, no subscription, no consumer.
func TestSLOW03_AKilledRelayLeavesNothingOnTheBroker(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	cfg, monitor := harness.Monitored(t, harness.Networked(t))
	f := harness.New(t, harness.Config{Broker: cfg})
	p := f.Producer(f.Connect())
	const chats, each = 20, 10
	for i := range chats {
		f.Publish(f.Start(p, fmt.Sprint("chat ", i)), 1, 100)
	}
	before := monitor.AtRest()

	relay := f.RelayProcess()
	relay.Start()
	relay.Ready()
	for i := range chats * each {
		c := watch(t, relay.URL, harness.Live(fmt.Sprint("chat ", i%chats)))
		o := &harness.Observer{}
		require.NoError(t, o.Until(ctx, c, 100))
	}
	during := monitor.Held()
	require.GreaterOrEqual(t, during.Subscriptions, before.Subscriptions+chats)
	require.Equal(t, before.Consumers, during.Consumers, "observers need none, not even while they read")
	relay.Kill()
	harness.Eventually(t, "the broker holds what it held before", func() bool { return monitor.Held() == before })
}
