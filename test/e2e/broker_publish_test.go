package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
	"github.com/rejoin/rejoin/test/proxy"
)

// pending is how much a run may hold that the broker has not acknowledged.
const pending = 4 * subjects.MaxRecordEvents

// BRK-03: 500 events a second, while the broker stops and starts again and again, and
// somebody else listens to everything that is published. All events are stored once and in
// order, and the producer holds no more than it may.
func TestBRK03_PublishingWhileTheBrokerComesAndGoes(t *testing.T) {
	t.Parallel()
	for name, boot := range map[string]func(*testing.T) (*harness.Fabric, func()){
		"stopped": stoppable,
		"killed":  killable,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := bounded(t)
			f, restart := boot(t)
			relay := f.Relay(harness.RelayConfig{})
			link := f.Connect()
			run := f.Start(f.Producer(link), "chat")
			// Whoever publishes to a stream that is away is told so by the lack of anybody who
			// listens; this subscriber takes that away.
			nosy, err := f.Connect().NC.SubscribeSync("rejoin.run.>")
			require.NoError(t, err)
			require.NoError(t, nosy.SetPendingLimits(-1, -1))
			f.Publish(run, 1, 1)
			live := readTo(ctx, t, relay, 1)

			const restarts, between = 5, 250
			published := make(chan error, 1)
			due, held, over := make(chan struct{}), make(chan struct{}), make(chan struct{}, restarts)
			go func() {
				published <- steadily(ctx, run, restarts*between+between, func(i int) {
					switch {
					case i/between == restarts:
					case i%between == between/2:
						due <- struct{}{}
						<-held
					case i%between == between-1: // whoever is faster
						<-over
					}
				})
			}()
			for range restarts {
				select {
				case <-due:
				case err := <-published:
					require.FailNow(t, "publishing stopped", "%v", err)
				}
				// What is under way now is stored, and its ack lost: the worst moment.
				release := link.Proxy.Hold(proxy.Down)
				held <- struct{}{}
				harness.Eventually(t, "a record is stored and not acknowledged", func() bool {
					last, err := relay.Store.Last(ctx, run.ID())
					return err == nil && last.Last > run.StoredSeq()
				})
				restart()
				release()
				over <- struct{}{}
			}
			require.NoError(t, <-published)
			finish(t, run, true)
			const total = 1 + restarts*between + between
			require.NoError(t, live.o.ToEnd(ctx, live.from))
			require.NoError(t, live.o.Holds(total))
			require.Equal(t, 1, live.o.Snapshots)
			stored := readFrom(ctx, t, relay, run.ID(), 0)
			require.NoError(t, stored.o.ToEnd(ctx, stored.from))
			require.NoError(t, stored.o.Holds(total))
			require.Equal(t, total, stored.o.Events, "from the log, one by one")
			require.NotZero(t, received(nosy))
		})
	}
}

// steadily publishes events of numbered text, 500 a second, and checks what the run holds.
func steadily(ctx context.Context, run *producer.Run, events int, each func(int)) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for i := range events {
		<-tick.C
		if _, err := run.Publish(ctx, harness.Delta(run.LastSeq()+1)); err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
		if held := run.LastSeq() - run.StoredSeq(); held > pending {
			return fmt.Errorf("%d events are pending", held)
		}
		each(i)
	}
	return nil
}

func received(s *nats.Subscription) int64 {
	n, err := s.Delivered()
	if err != nil {
		return 0
	}
	waiting, _, _ := s.Pending()
	return n + int64(waiting)
}

// BRK-03: there is no room for another record, in the log or on the whole server. Publishing
// waits with a bounded buffer, loses nothing, and goes on once there is room; readers
// see every event once.
func TestBRK03_AFullStoreIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, boot := range map[string]func(*testing.T) (f *harness.Fabric, fill, room func(*harness.Relay)){
		"log":    smallLog,
		"server": smallServer,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := bounded(t)
			f, fill, room := boot(t)
			relay := f.Relay(harness.RelayConfig{})
			run := f.Start(f.Producer(f.Connect()), "chat")
			f.Publish(run, 1, 100)
			live := readTo(ctx, t, relay, 100)
			fill(relay)
			full := publishUntilBlocked(ctx, t, run)
			require.Greater(t, full, run.StoredSeq())
			require.LessOrEqual(t, full-run.StoredSeq(), uint64(pending))
			room(relay)
			stored, err := run.Flush(ctx)
			require.NoError(t, err)
			require.Equal(t, full, stored)
			finish(t, run, true)
			require.NoError(t, live.o.ToEnd(ctx, live.from))
			require.NoError(t, live.o.Holds(full))
		})
	}
}

func smallLog(t *testing.T) (f *harness.Fabric, fill, room func(*harness.Relay)) {
	limit := func(bytes int64) func(*harness.Relay) {
		return func(relay *harness.Relay) {
			c := subjects.RunsConfig(0, 1)
			c.Discard, c.MaxBytes = jetstream.DiscardNew, bytes
			_, err := admin(t, relay).UpdateStream(t.Context(), c)
			require.NoError(t, err)
		}
	}
	return harness.New(t, harness.Config{Partitions: 1}), limit(64 << 10), limit(-1)
}

func smallServer(t *testing.T) (f *harness.Fabric, fill, room func(*harness.Relay)) {
	var store atomic.Int64
	store.Store(1 << 20)
	cfg := harness.Networked(t)
	cfg.Tune = func(o *server.Options) { o.JetStreamMaxStore = store.Load() }
	f = harness.New(t, harness.Config{Broker: cfg})
	return f, func(*harness.Relay) {}, func(*harness.Relay) {
		store.Store(1 << 30)
		require.NoError(t, f.Broker.Restart())
	}
}

// publishUntilBlocked publishes until the run's buffer has been full for a moment, and
// returns the seq of the last event it took.
func publishUntilBlocked(ctx context.Context, t *testing.T, run *producer.Run) uint64 {
	t.Helper()
	for {
		try, cancel := context.WithTimeout(ctx, time.Second)
		_, err := run.Publish(try, harness.Delta(run.LastSeq()+1))
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			require.NoError(t, ctx.Err())
			return run.LastSeq()
		}
		require.NoError(t, err)
	}
}
