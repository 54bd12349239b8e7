package turns_test

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/subjects"
)

// The consumer that somebody deletes comes back, while a worker waits and after.
func TestADeletedConsumerComesBack(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	c := f.workers(f.queue)
	got := make(chan *turns.Claim, 1)
	go func() { got <- f.next(c) }()
	require.NoError(t, f.js.DeleteConsumer(t.Context(), subjects.TurnsStream, subjects.Workers))
	sent := f.send("1", runs.Reject)
	claim := <-got
	require.Equal(t, sent.RunID, claim.RunID)
	require.NoError(t, claim.Done(t.Context()))

	require.NoError(t, f.js.DeleteConsumer(t.Context(), subjects.TurnsStream, subjects.Workers))
	sent = f.send("2", runs.Reject)
	require.Equal(t, sent.RunID, f.next(c).RunID)
	require.NoError(t, c.Failing())
}

// One that may not make it says what to do, and claims turns once somebody has done it.
func TestAWorkerThatMayNotMakeTheConsumerSaysSo(t *testing.T) {
	t.Parallel()
	broker, err := natsd.Start(natsd.Config{Tune: func(o *server.Options) {
		o.Users = []*server.User{
			{Username: "any", Password: "p"},
			{Username: "worker", Password: "p", Permissions: &server.Permissions{
				Publish: &server.SubjectPermission{Deny: []string{"$JS.API.CONSUMER.CREATE.>", "$JS.API.STREAM.CREATE.>", "$JS.API.STREAM.UPDATE.>"}}}},
		}
		o.NoAuthUser = "any"
	}})
	require.NoError(t, err)
	t.Cleanup(broker.Shutdown)
	store := func(user string, cfg runs.Config) *runs.Store {
		nc, err := broker.Connect(nats.UserInfo(user, "p"))
		require.NoError(t, err)
		t.Cleanup(nc.Close)
		s, err := runs.Open(t.Context(), nc, cfg)
		require.NoError(t, err)
		t.Cleanup(s.Close)
		return s
	}
	admin := store("any", runs.Config{Partitions: 1, Provision: true})
	q := turns.New(store("worker", runs.Config{Provision: true}), turns.Config{})
	_, err = q.Workers(t.Context())
	require.NoError(t, err, "it is there: there is nothing to make")

	require.NoError(t, admin.JetStream().DeleteConsumer(t.Context(), subjects.TurnsStream, subjects.Workers))
	_, err = q.Workers(t.Context())
	require.ErrorIs(t, err, runs.ErrForbidden)
	require.ErrorContains(t, err, `run "rejoin init"`)
	require.ErrorContains(t, err, "$JS.API.CONSUMER.CREATE.TURNS.workers")
	_, err = turns.New(admin, turns.Config{NoProvision: true}).Workers(t.Context())
	require.ErrorIs(t, err, runs.ErrNotProvisioned)
	require.NoError(t, admin.MakeWorkers(t.Context(), 0))
	_, err = q.Workers(t.Context())
	require.NoError(t, err)
}
