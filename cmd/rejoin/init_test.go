package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
)

// init says what it would do, does it once, and refuses to lose anything.
func TestInitSaysWhatItDoes(t *testing.T) {
	t.Parallel()
	broker, err := natsd.Start(natsd.Config{Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	defer broker.Shutdown()
	do := func(args ...string) result {
		return called(t.Context(), nil, append([]string{"init", "--nats", broker.ClientURL(), "--log-level", "error"}, args...)...)
	}
	got := do("--dry-run", "--partitions", "2")
	require.Zero(t, got.code, got.err)
	require.Equal(t, `KV_rejoin         to be made
KV_rejoin_leases  to be made
TURNS             to be made
CONTROL           to be made
HISTORY           to be made
RUNS_0            to be made
RUNS_1            to be made
TURNS > workers   to be made
8 to do; nothing was changed
`, got.out)
	got = do("--partitions", "2")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "RUNS_1            made\n")
	got = do()
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "RUNS_1            as it is\n")
	require.Contains(t, got.out, "nothing to do\n")

	got = do("--partitions", "1")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.err, "2 partitions exist and 1 were asked for")
	got = do("--replicas", "3", "--nats-wait", "1h")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.err, "is this a cluster of 3 servers?")
	require.Contains(t, got.err, "(--replicas, REJOIN_REPLICAS)")
	got = do("--nats-creds", "/no/such/file")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.err, "/no/such/file")
	require.Contains(t, got.err, "(--nats-creds, REJOIN_NATS_CREDS)")
}
