package bench_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rejoin/rejoin/internal/bench"
	"github.com/rejoin/rejoin/internal/bench/report"
	"github.com/rejoin/rejoin/test/harness"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		harness.RemoveBinary()
		os.Exit(code)
	}))
}

// measured runs one case of a workload as briefly as possible, and gives its results:
// rejoin's first. All of them are right.
func measured(t *testing.T, workload, name string, during time.Duration) []report.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	results, err := bench.Run(ctx, bench.Config{Executable: harness.Binary(t), Workloads: []string{workload}, Case: name,
		Duration: during, Log: t.Output()})
	require.NoError(t, err)
	require.NotEmpty(t, results)
	for i, r := range results {
		require.Equal(t, workload, r.Workload)
		require.Equal(t, i == 0, r.System == report.Rejoin, r.System)
		require.NotEmpty(t, r.Figures)
		require.Equal(t, r.Counts.Expected, r.Counts.Delivered)
		require.Zero(t, r.Counts.Missing+r.Counts.Doubled+r.Counts.OutOfOrder)
	}
	require.Positive(t, results[0].Counts.Expected)
	return results
}

// value is a figure that is there and more than nothing.
func value(t *testing.T, r report.Result, name string) float64 {
	t.Helper()
	f := r.Figure(name)
	require.NotNil(t, f, "%s of %s", name, r.System)
	require.Positive(t, f.Value, "%s of %s", name, r.System)
	return f.Value
}
