package e2e_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// BRK-02: while a relay has lost the broker the chat goes from one run to the next.
// Whoever watched the older one, and whoever waited for a run at all, learns of the newer
// one once the relay is back, though nothing is published any more.
func TestBRK02_AMovedPointerIsLearntAfterTheReconnect(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	f := harness.New(t, harness.Config{Broker: harness.Networked(t)})
	// Silence is not what finds it: the tail asks because the connection is back.
	relay := f.Relay(harness.RelayConfig{Hub: consumer.HubConfig{Silence: time.Hour}})
	p := f.Producer(f.Connect())
	first := f.Start(p, "chat")
	f.Publish(first, 1, 10)
	reader := relay.Client().Watch(ctx, consumer.Watch{ChatID: "chat", Follow: true})
	defer reader.Close()
	o := &harness.Observer{}
	require.NoError(t, o.Until(ctx, reader, 10))
	waiter := relay.Client().Watch(ctx, consumer.Watch{ChatID: "idle", Wait: harness.Patience})
	defer waiter.Close()
	found := make(chan error, 1)
	var w harness.Observer
	go func() { found <- w.Until(ctx, waiter, 3) }()
	harness.Eventually(t, "the waiter waits", func() bool { return relay.Number("rejoin_waiters") == 1 })

	relay.Proxy.Refuse(true)
	relay.Proxy.Cut()
	second := f.Start(p, "chat")
	f.Publish(second, 1, 5)
	idle := f.Start(p, "idle")
	f.Publish(idle, 1, 3)
	relay.Proxy.Refuse(false)

	require.NoError(t, <-found)
	require.Equal(t, idle.ID(), w.RunID)
	end, err := reader.Next(ctx)
	require.NoError(t, err)
	require.NoError(t, o.Apply(end))
	require.Equal(t, subjects.End{Superseded: true, Reason: subjects.ReasonSuperseded, NextRunID: second.ID()}, *o.End)
	next := &harness.Observer{}
	require.NoError(t, next.Until(ctx, reader, 5))
	require.Equal(t, second.ID(), next.RunID)
	require.NoError(t, next.Holds(5))
}

// BRK-02: twenty runs take the chat from each other while both relays lose the broker
// again and again: no observer is ever sent back to an older run.
func TestBRK02_SupersessionNeverGoesBack(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	f := harness.New(t, harness.Config{Broker: harness.Networked(t)})
	relays := []*harness.Relay{f.Relay(harness.RelayConfig{}), f.Relay(harness.RelayConfig{})}
	p := f.Producer(f.Connect())
	const chain = 20
	var mu sync.Mutex
	place := map[subjects.RunID]int{} // the runs in the order in which they took the chat
	start := func() *producer.Run {
		mu.Lock() // whoever sees a run asks for its place only once that is known
		defer mu.Unlock()
		run := f.Start(p, "chat")
		place[run.ID()] = len(place)
		return run
	}
	placeOf := func(id subjects.RunID) int {
		mu.Lock()
		defer mu.Unlock()
		return place[id]
	}

	run := start()
	f.Publish(run, 1, 3)
	var readers sync.WaitGroup
	for i := range 12 {
		readers.Go(func() {
			if err := followChain(ctx, relays[i%2], i%4 < 2, placeOf, chain-1); err != nil {
				t.Errorf("reader %d: %v", i, err)
			}
		})
	}
	for i := 1; i < chain; i++ {
		relays[i%2].Proxy.Cut()
		run = start()
		f.Publish(run, 1, 3)
	}
	_, err := run.Finish(ctx, producer.FinishOptions{})
	require.NoError(t, err)
	readers.Wait()
}

// followChain reads up to the end of the last run of a chain, either as one stream that
// follows, or by asking anew for the chat's current run every time.
func followChain(ctx context.Context, relay *harness.Relay, follow bool, place func(subjects.RunID) int, last int) error {
	newest := 0
	for {
		s := relay.Client().Watch(ctx, consumer.Watch{ChatID: "chat", Follow: follow})
		o := &harness.Observer{}
		for o.End == nil {
			f, err := s.Next(ctx)
			if err == nil && o.End == nil {
				err = o.Apply(f)
			}
			if err != nil {
				return fmt.Errorf("at %s:%d: %w", o.RunID, o.Seq, err)
			}
			if at := place(o.RunID); at < newest {
				return fmt.Errorf("sent from run %d of the chat back to run %d", newest, at)
			}
			newest = place(o.RunID)
			if o.End != nil && o.End.Superseded && place(o.End.NextRunID) <= newest {
				return fmt.Errorf("run %d was superseded by run %d", newest, place(o.End.NextRunID))
			}
			if o.End != nil && o.End.Superseded && follow {
				o = &harness.Observer{}
			}
		}
		if err := s.Close(); err != nil {
			return err
		}
		if newest == last {
			return nil
		}
	}
}
