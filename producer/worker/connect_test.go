package worker_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/producer/worker"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

func TestConnectIsAllThatAnotherModuleNeeds(t *testing.T) {
	t.Parallel()
	f := newFabric(t, harness.Config{})
	id := f.send("c", "hi")
	nc, err := f.Broker.Connect()
	require.NoError(t, err)
	defer nc.Close()
	w, err := worker.Connect(within(t), nc, says("hello"), worker.Options{})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	require.Equal(t, &subjects.End{Persisted: true, Reason: subjects.ReasonDone}, f.watch(id, nil).End)
	stop()
	require.NoError(t, <-done)
}

func TestConnectNeedsAFabric(t *testing.T) {
	t.Parallel()
	broker, err := natsd.Start(natsd.Config{})
	require.NoError(t, err)
	defer broker.Shutdown()
	nc, err := broker.Connect()
	require.NoError(t, err)
	defer nc.Close()
	_, err = worker.Connect(within(t), nc, says("hello"), worker.Options{})
	require.ErrorIs(t, err, producer.ErrNotProvisioned)
}
