package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/test/harness"
)

// BRK-01: fifty readers, idle, busy, and not reading at that moment, live through two
// restarts of the broker. Each ends with what was published, none is left hanging.
func TestBRK01_ReadersOutliveTheBrokersRestart(t *testing.T) {
	t.Parallel()
	for name, boot := range map[string]func(*testing.T) (f *harness.Fabric, restart func()){
		"stopped": stoppable,
		"killed":  killable,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, restart := boot(t)
			outlive(t, f, restart)
		})
	}
}

func stoppable(t *testing.T) (*harness.Fabric, func()) {
	f := harness.New(t, harness.Config{Broker: harness.Networked(t)})
	return f, func() { require.NoError(t, f.Broker.Restart()) }
}

func killable(t *testing.T) (*harness.Fabric, func()) {
	b := harness.NewBroker(t)
	return harness.New(t, harness.Config{URL: b.URL}), func() {
		b.Kill()
		b.Restart()
	}
}

func outlive(t *testing.T, f *harness.Fabric, restart func()) {
	const early, total = 20, 6000
	relay := f.Relay(harness.RelayConfig{})
	p := f.Producer(f.Connect())
	busy, quiet := f.Start(p, "busy"), f.Start(p, "quiet")
	f.Publish(busy, 1, early)
	f.Publish(quiet, 1, early)

	ctx := bounded(t)
	var attached, readers sync.WaitGroup
	restarted := make(chan struct{})
	for i := range 50 {
		kind := i % 5
		chat, events, pausing := "busy", uint64(total), kind == 1 || kind == 2
		if kind == 0 {
			chat, events = "quiet", early
		}
		attached.Add(1)
		attach := sync.OnceFunc(attached.Done)
		readers.Go(func() {
			defer attach()
			err := sit(ctx, relay, chat, i%2 == 0, func(o *harness.Observer, from source) error {
				err := o.Until(ctx, from, early)
				attach()
				if pausing {
					<-restarted
				}
				return errors.Join(err, o.ToEnd(ctx, from), o.Holds(events))
			})
			if err != nil {
				t.Errorf("reader %d of %s: %v", i, chat, err)
			}
		})
	}
	attached.Wait()

	underWay, published := make(chan struct{}), make(chan error, 1)
	go func() {
		for i := uint64(early + 1); i <= total; i++ {
			switch i {
			case total / 3:
				close(underWay)
			case total - 500: // the end is for after the restarts, whoever is faster
				<-restarted
			}
			if _, err := busy.Publish(ctx, harness.Delta(i)); err != nil {
				published <- fmt.Errorf("publishing %d: %w", i, err)
				return
			}
		}
		published <- nil
	}()
	select {
	case <-underWay:
	case err := <-published:
		require.FailNow(t, "publishing stopped", "%v", err)
	}
	restart()
	restart()
	close(restarted)
	require.NoError(t, <-published)
	for _, run := range []*producer.Run{quiet, busy} {
		end, err := run.Finish(ctx, producer.FinishOptions{Persisted: true})
		require.NoError(t, err)
		require.True(t, end.Persisted)
	}
	readers.Wait()
}

// source is a Reader or a client's Stream.
type source interface {
	Next(context.Context) (consumer.Frame, error)
}

// sit attaches an observer to a chat, over HTTP or to the hub itself, where it sees
// repeats that a client would hide, and lets it read.
func sit(ctx context.Context, relay *harness.Relay, chat string, overHTTP bool, read func(*harness.Observer, source) error) error {
	if overHTTP {
		s := relay.Client().Watch(ctx, consumer.Watch{ChatID: chat})
		defer s.Close()
		return read(&harness.Observer{}, s)
	}
	e, err := relay.Hub.Find(ctx, consumer.FindRequest{ChatID: chat})
	if err != nil {
		return err
	}
	r, err := relay.Hub.Open(ctx, e, consumer.ReadOptions{})
	if err != nil {
		return err
	}
	defer r.Close()
	return read(&harness.Observer{}, patient{r})
}

// patient reads on when the broker is away, as a relay does for its observers.
type patient struct{ *consumer.Reader }

func (p patient) Next(ctx context.Context) (consumer.Frame, error) {
	for {
		f, err := p.Reader.Next(ctx)
		if !errors.Is(err, consumer.ErrBrokerUnavailable) {
			return f, err
		}
		select {
		case <-ctx.Done():
			return f, fmt.Errorf("%w while %w", ctx.Err(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
