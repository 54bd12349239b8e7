package runs_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// A broker that answers every question and stores nothing, since there is no room, cannot
// serve. Once there is room it can.
func TestPingKnowsABrokerThatStoresNothing(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	require.NoError(t, f.store.Ping(t.Context()))
	require.NoError(t, f.store.Ping(t.Context()), "the second one only asks")
	bucket, err := f.js.Stream(t.Context(), subjects.BucketStream)
	require.NoError(t, err)
	info, err := bucket.Info(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, info.State.Msgs)

	full := info.Config
	full.MaxBytes = int64(info.State.Bytes) + 1
	_, err = f.js.UpdateStream(t.Context(), full)
	require.NoError(t, err)
	s := f.open(runs.Config{})
	_, err = s.Entry(t.Context(), s.NewRunID())
	require.ErrorIs(t, err, runs.ErrNotFound, "it answers")
	require.ErrorContains(t, s.Ping(t.Context()), "does not store")
	require.ErrorContains(t, s.Ping(t.Context()), "does not store")

	full.MaxBytes = -1
	_, err = f.js.UpdateStream(t.Context(), full)
	require.NoError(t, err)
	require.NoError(t, s.Ping(t.Context()))
}

func TestPingKnowsABrokerThatIsAway(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{Listen: "127.0.0.1:0", StoreDir: t.TempDir()})
	require.NoError(t, f.store.Ping(t.Context()))
	back := f.store.Reconnected()
	f.server.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.Error(t, f.store.Ping(ctx))
	require.NoError(t, f.server.Restart())
	<-back
	require.Eventually(t, func() bool { return f.store.Ping(ctx) == nil }, patience, 1e7)
}
