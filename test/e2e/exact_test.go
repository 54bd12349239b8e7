package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// lastEvent is the seq of the run's last event.
const lastEvent = 12_000

// Hundreds of readers attach at any moment, leave at any moment and come back to
// either relay, while a writer is as fast as it can be and every connection to the
// broker is cut now and then.
func TestReadersAtAnyMomentOnAnyRelayEndWithWhatWasPublished(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{Broker: harness.Networked(t)})
	relays := []*harness.Relay{f.Relay(harness.RelayConfig{}), f.Relay(harness.RelayConfig{})}
	link := f.Connect()
	run := f.Start(f.Producer(link), "chat")
	ctx, cancel := context.WithTimeout(t.Context(), 3*harness.Patience)
	defer cancel()

	const events, readers = lastEvent, 300
	var published atomic.Uint64
	progress := make(chan struct{}, events)
	var wg sync.WaitGroup
	for i := range readers {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(i), 7))
			if err := restless(ctx, rnd, relays, run.ID(), &published, i%3 == 0); err != nil {
				t.Errorf("reader %d: %v", i, err)
			}
		})
	}
	wg.Go(func() {
		defer close(progress)
		for i := range uint64(events) {
			if _, err := run.Publish(ctx, harness.Delta(i+1)); err != nil {
				t.Errorf("publishing %d: %v", i+1, err)
				return
			}
			published.Store(i + 1)
			progress <- struct{}{}
		}
		_, err := run.Finish(ctx, producer.FinishOptions{Persisted: true})
		if err != nil {
			t.Errorf("finish: %v", err)
		}
	})
	done := 0
	for range progress {
		if done%2500 == 1250 {
			[]func(){relays[0].Proxy.Cut, relays[1].Proxy.Cut, link.Proxy.Cut}[done/2500%3]()
		}
		done++
		if t.Failed() {
			cancel()
		}
	}
	wg.Wait()
}

// restless reads a run to its end in many short visits, each from where the last one
// left or from anywhere it could have been.
func restless(ctx context.Context, rnd *rand.Rand, relays []*harness.Relay, id subjects.RunID, published *atomic.Uint64, overHTTP bool) error {
	var o *harness.Observer
	for ctx.Err() == nil {
		relay := relays[rnd.IntN(len(relays))]
		switch {
		case o == nil && rnd.IntN(3) == 0:
			o = harness.At(id, rnd.Uint64N(published.Load()+1))
		case o == nil:
			o = &harness.Observer{}
		}
		stay := o.Seq + rnd.Uint64N(2000)
		visit := inProcess
		if overHTTP {
			visit = throughHTTP
		}
		err := visit(ctx, relay, o, stay)
		if errors.Is(err, consumer.ErrIdle) && o.RunID == "" && published.Load() == lastEvent {
			// The run was saved: whoever asks without a cursor is told to load history.
			o = harness.At(id, rnd.Uint64N(published.Load()+1))
			continue
		}
		if err != nil {
			return err
		}
		if err := o.Holds(o.Seq); err != nil {
			return err
		}
		if o.End != nil {
			if o.Seq != lastEvent || !o.End.Persisted {
				return fmt.Errorf("ended at %d with %+v", o.Seq, *o.End)
			}
			return nil
		}
		if rnd.IntN(4) == 0 {
			o = nil // begin anew, somewhere else
		}
	}
	return ctx.Err()
}

func inProcess(ctx context.Context, relay *harness.Relay, o *harness.Observer, until uint64) error {
	find := consumer.FindRequest{ChatID: "chat", RunID: o.RunID}
	e, err := relay.Hub.Find(ctx, find)
	if err != nil {
		return ignoreOutage(err)
	}
	r, err := relay.Hub.Open(ctx, e, consumer.ReadOptions{Cursor: o.Cursor()})
	if err != nil {
		return ignoreOutage(err)
	}
	defer r.Close()
	err = o.Until(ctx, r, until)
	if o.End == nil && err == nil {
		// Perhaps the end follows at once; then there is nothing more to visit for.
		if f, ok, err := r.Poll(ctx); ok {
			return o.Apply(f)
		} else if err != nil {
			return ignoreOutage(err)
		}
	}
	return ignoreOutage(err)
}

func ignoreOutage(err error) error {
	if errors.Is(err, consumer.ErrBrokerUnavailable) {
		return nil
	}
	return err
}

func throughHTTP(ctx context.Context, relay *harness.Relay, o *harness.Observer, until uint64) error {
	w := consumer.Watch{ChatID: "chat", RunID: o.RunID}
	if o.RunID != "" {
		seq := o.Seq
		w.AfterSeq = &seq
	}
	s := relay.Client().Watch(ctx, w)
	defer s.Close()
	if err := o.Until(ctx, s, until); err != nil && !errors.Is(err, consumer.ErrInterrupted) {
		return err
	}
	return nil
}

// Three replay windows of events: from every cursor there is, and from one past the
// head, a reader gets exactly the rest, by replay or by a snapshot as the rules say.
func TestEveryCursorOfThreeWindows(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	relay := f.Relay(harness.RelayConfig{Hub: consumer.HubConfig{MaxSnapshots: 2}})
	run := f.Start(relay.Producer, "chat")
	const events = 12_000
	f.Publish(run, 1, events)
	e, err := relay.Store.Entry(t.Context(), run.ID())
	require.NoError(t, err)

	first := oldestKept(t, relay, run.ID())
	ctx, cancel := context.WithTimeout(t.Context(), 5*harness.Patience)
	defer cancel()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for after := next.Add(1) - 1; after <= events+1 && !t.Failed(); after = next.Add(1) - 1 {
				if err := fromCursor(ctx, relay.Hub, e, uint64(after), events, first); err != nil {
					t.Errorf("cursor %d: %v", after, err)
				}
			}
		})
	}
	wg.Wait()
}

// oldestKept is the seq of the oldest event that the log still holds.
func oldestKept(t *testing.T, relay *harness.Relay, id subjects.RunID) uint64 {
	t.Helper()
	page, err := relay.Store.Page(t.Context(), id, 1)
	require.NoError(t, err)
	return page[0].Prev() + 1
}
