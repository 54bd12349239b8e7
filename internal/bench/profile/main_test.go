package profile_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rejoin/rejoin/internal/bench/profile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestProfilesAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	stop, err := profile.Serve(socket)
	require.NoError(t, err)
	defer stop()
	taking, err := profile.Start(t.Context(), socket, dir, "relay")
	require.NoError(t, err)
	_, err = profile.Start(t.Context(), socket, dir, "again")
	require.ErrorContains(t, err, "a profile is being taken")
	require.NoError(t, taking.Stop(t.Context()))
	require.ErrorContains(t, taking.Stop(t.Context()), "no profile is being taken")
	for _, name := range []string{"cpu", "allocs.before", "allocs", "heap", "mutex", "block", "goroutine"} {
		b, err := os.ReadFile(filepath.Join(dir, "relay."+name+".pb.gz"))
		require.NoError(t, err)
		require.Equal(t, []byte{0x1f, 0x8b}, b[:2], name) // gzip
	}
}

func TestNobodyServesProfiles(t *testing.T) {
	t.Parallel()
	_, err := profile.Start(context.Background(), filepath.Join(t.TempDir(), "s"), t.TempDir(), "relay")
	require.ErrorContains(t, err, "profile allocs")
}
