package bench_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/bench/report"
	"github.com/rejoin/rejoin/test/harness"
)

// The command as it is called: it measures twice, compares, and leaves nothing behind.
func TestTheCommand(t *testing.T) {
	t.Parallel()
	dir, temporary := t.TempDir(), t.TempDir()
	rejoin := func(args ...string) (stdout, stderr string) {
		t.Helper()
		var out, errs bytes.Buffer
		cmd := exec.Command(harness.Binary(t), append([]string{"bench", "--workload", "ingest", "--case", "1 run, 64", "--duration", "200ms"}, args...)...)
		// What a user has set for other commands is not for what is measured.
		cmd.Env = append(os.Environ(), "TMPDIR="+temporary, "REJOIN_ADDR=nowhere", "REJOIN_LEASE=1s")
		cmd.Stdout, cmd.Stderr = &out, &errs
		require.NoError(t, cmd.Run(), "%s", &errs)
		return out.String(), errs.String()
	}

	lines := filepath.Join(dir, "lines.jsonl")
	table, _ := rejoin("--json", lines, "--partitions", "2", "--sync-interval", "1m", "--memlimit", "512MiB")
	require.Contains(t, table, "ingest: 1 run, 64 a request")
	require.Contains(t, table, "sync_interval 1m, 2 partitions")
	f, err := os.Open(lines)
	require.NoError(t, err)
	defer f.Close()
	kept, err := report.ReadLines(f)
	require.NoError(t, err)
	require.Len(t, kept, 2)
	require.Equal(t, 2, kept[0].Partitions)
	require.Equal(t, "1m", kept[0].SyncInterval)
	require.NotEmpty(t, kept[0].Commit)

	profiles := filepath.Join(dir, "profiles")
	out, table := rejoin("--json", "-", "--compare", lines, "--rounds", "2", "--profile", profiles)
	again, err := report.ReadLines(bytes.NewReader([]byte(out)))
	require.NoError(t, err)
	require.Len(t, again, 2)
	require.Equal(t, 2, again[0].Rounds)
	require.Contains(t, table, "beside "+lines)
	require.Contains(t, table, "not measured alike: sync_interval was 1m, is 2m; partitions was 2, is 4")
	for _, kind := range []string{"cpu", "allocs", "heap", "mutex", "block", "goroutine"} {
		for _, who := range []string{"relay", "broker"} {
			found, err := filepath.Glob(filepath.Join(profiles, "ingest.1-run-64-a-request.*"+who+"."+kind+".pb.gz"))
			require.NoError(t, err)
			require.NotEmpty(t, found, "%s of the %s", kind, who)
		}
	}

	left, err := os.ReadDir(temporary)
	require.NoError(t, err)
	require.Empty(t, left)
}
