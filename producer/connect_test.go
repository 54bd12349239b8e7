package producer_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/producer"
)

func TestConnectNeedsAFabric(t *testing.T) {
	t.Parallel()
	server, err := natsd.Start(natsd.Config{})
	require.NoError(t, err)
	defer server.Shutdown()
	nc, err := server.Connect()
	require.NoError(t, err)
	defer nc.Close()
	_, err = producer.Connect(t.Context(), nc, producer.Config{})
	require.ErrorIs(t, err, producer.ErrNotProvisioned)

	store, err := runs.Open(t.Context(), nc, runs.Config{Provision: true})
	require.NoError(t, err)
	defer store.Close()
	p, err := producer.Connect(t.Context(), nc, producer.Config{})
	require.NoError(t, err)
	run, err := p.Start(t.Context(), producer.StartOptions{ChatID: "c"})
	require.NoError(t, err)
	_, err = run.Publish(t.Context(), []byte(`{"type":"RAW"}`))
	require.NoError(t, err)
	end, err := run.Finish(t.Context(), producer.FinishOptions{Persisted: true})
	require.NoError(t, err)
	require.True(t, end.Persisted)

	// With nothing to end, Close is not in want of time, and knows that no save runs.
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		require.NoError(t, p.Close(over))
	}
}
