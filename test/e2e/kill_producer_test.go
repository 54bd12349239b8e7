package e2e_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// dying is a fabric whose producers are processes of their own, with a short lease.
func dying(t *testing.T) (*harness.Fabric, *harness.Relay) {
	f := harness.New(t, harness.Config{Broker: harness.Networked(t), Lease: time.Second})
	return f, f.Relay(harness.RelayConfig{Janitor: runs.JanitorConfig{Interval: 50 * time.Millisecond}})
}

var abandoned = subjects.End{Reason: subjects.ReasonAbandoned}

// TERM-07: the producer is killed after twenty events. Nobody was watching: whoever comes
// later gets what there is, and the end. Somebody was: the end comes to them.
func TestTERM07_AKilledProducersRunEnds(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	f, relay := dying(t)
	unseen, id := f.ProducerProcess("unseen", 20)
	seen, _ := f.ProducerProcess("chat", 20)
	reader := readTo(ctx, t, relay, 20)
	unseen.Kill()
	seen.Kill()
	require.NoError(t, reader.o.ToEnd(ctx, reader.from))
	require.NoError(t, reader.o.Holds(20))
	require.Equal(t, abandoned, *reader.o.End)

	harness.Eventually(t, "the run nobody watches ends", func() bool {
		e, err := relay.Store.Entry(ctx, id)
		return err == nil && e.End != nil
	})
	c := watch(t, relay.URL, harness.Live("unseen"))
	late := &harness.Observer{}
	require.NoError(t, late.ToEnd(ctx, c))
	require.NoError(t, late.Holds(20))
	require.Equal(t, abandoned, *late.End)
	f.Publish(f.Start(f.Producer(f.Connect()), "unseen"), 1, 3)
}

// TERM-07: silence is no death. A run whose producer lives and says nothing, for longer
// than its lease, goes on; killed then, it ends.
func TestTERM07_ASilentProducerIsNotDeadUntilItIs(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	f, relay := dying(t)
	silent, _ := f.ProducerProcess("chat", 20)
	reader := readTo(ctx, t, relay, 20)
	began := relay.Number("rejoin_janitor_sweep_seconds")
	harness.Eventually(t, "three lease times of sweeps", func() bool {
		return relay.Number("rejoin_janitor_sweep_seconds") >= began+60
	})
	require.Zero(t, relay.Number("rejoin_janitor_ended_total"))
	silent.Kill()
	require.NoError(t, reader.o.ToEnd(ctx, reader.from))
	require.NoError(t, reader.o.Holds(20))
	require.Equal(t, abandoned, *reader.o.End)
}

// TERM-07: whoever sends the next message does not wait for the lease of the dead
// producer: the chat is taken over at once, and its readers go along.
func TestTERM07_ANewRunTakesTheChatOfADeadProducerAtOnce(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	// A lease that this test does not live to see the end of.
	f := harness.New(t, harness.Config{Broker: harness.Networked(t), Lease: time.Hour})
	relay := f.Relay(harness.RelayConfig{})
	dead, id := f.ProducerProcess("chat", 20)
	reader := relay.Client().Watch(ctx, consumer.Watch{ChatID: "chat", Follow: true})
	defer reader.Close()
	o := &harness.Observer{}
	require.NoError(t, o.Until(ctx, reader, 20))
	dead.Kill()

	p := f.Producer(f.Connect())
	_, err := p.Start(ctx, producer.StartOptions{ChatID: "chat", OnActive: producer.Reject})
	require.Equal(t, &producer.AlreadyStreamingError{RunID: id}, err, "before its lease is over it counts as active")
	next := f.Start(p, "chat")
	f.Publish(next, 1, 5)
	finish(t, next, true)
	end, err := reader.Next(ctx)
	require.NoError(t, err)
	require.NoError(t, o.Apply(end))
	require.Equal(t, subjects.End{Superseded: true, Reason: subjects.ReasonSuperseded, NextRunID: next.ID()}, *o.End)
	after := &harness.Observer{}
	require.NoError(t, after.ToEnd(ctx, reader))
	require.NoError(t, after.Holds(5))
	require.Equal(t, next.ID(), after.RunID)
}
