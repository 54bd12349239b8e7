package bench_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/bench"
	"github.com/rejoin/rejoin/internal/bench/report"
	"github.com/rejoin/rejoin/test/harness"
)

// tiny runs a workload on a case that is smaller than all of its own.
func tiny(t *testing.T, workload string, c bench.Case) []report.Result {
	t.Helper()
	c.Name, c.Short, c.Size = "tiny", true, 200
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	results, err := bench.Run(ctx, bench.Config{Executable: harness.Binary(t), Workloads: []string{workload}, Cases: []bench.Case{c},
		Short: true, Duration: time.Second, Log: t.Output()})
	require.NoError(t, err)
	for i, r := range results {
		require.Equal(t, i == 0, r.System == report.Rejoin, r.System)
		require.Positive(t, r.Counts.Expected, r.System)
		require.Equal(t, r.Counts.Expected, r.Counts.Delivered, r.System)
		require.False(t, r.Counts.Wrong(), r.System)
	}
	return results
}

// seconds is how long a pace is kept: a second to warm up, and one.
const seconds = 2

func TestLive(t *testing.T) {
	t.Parallel()
	results := tiny(t, "live", bench.Case{Runs: 4, Observers: 4, Rate: 20})
	require.Len(t, results, 3)
	for _, r := range results {
		require.EqualValues(t, 4*20*seconds, r.Counts.Expected, r.System)
		require.LessOrEqual(t, value(t, r, "p50"), value(t, r, "p99"))
		require.LessOrEqual(t, value(t, r, "p99"), 1.01*value(t, r, "max"))
	}
}

func TestLiveWithOneEventARequest(t *testing.T) {
	t.Parallel()
	results := tiny(t, "live", bench.Case{Runs: 4, Observers: 4, Rate: 20, Mode: "single"})
	require.Len(t, results, 2)
	require.EqualValues(t, 4*20*seconds, results[0].Counts.Expected)
}

func TestLiveFromGo(t *testing.T) {
	t.Parallel()
	results := tiny(t, "live", bench.Case{Runs: 4, Observers: 4, Rate: 20, Mode: "native"})
	require.Len(t, results, 2)
	require.EqualValues(t, 4*20*seconds, results[0].Counts.Expected)
}

func TestFanOut(t *testing.T) {
	t.Parallel()
	for _, r := range tiny(t, "fanout", bench.Case{Runs: 1, Observers: 20, Rate: 50}) {
		require.EqualValues(t, 20*50*seconds, r.Counts.Expected)
		value(t, r, "p50")
		value(t, r, "CPU per frame")
	}
}

func TestStorm(t *testing.T) {
	t.Parallel()
	// At this rate something is published while 30 come back, which takes milliseconds.
	for _, r := range tiny(t, "storm", bench.Case{Runs: 3, Observers: 30, Rate: 1000}) {
		require.Greater(t, r.Counts.Expected, uint64(30*4*20), "three storms, and what was there before")
		value(t, r, "all caught up p50")
		value(t, r, "publishing before p99")
		value(t, r, "publishing meanwhile p99")
	}
}

func TestOutage(t *testing.T) {
	t.Parallel()
	r := tiny(t, "outage", bench.Case{Runs: 3, Observers: 30})[0]
	require.EqualValues(t, 30*(20+1), r.Counts.Expected)
	require.LessOrEqual(t, value(t, r, "one current p50"), 1.01*value(t, r, "all current p50"))
}

func TestIdle(t *testing.T) {
	t.Parallel()
	results := tiny(t, "idle", bench.Case{Runs: 3, Observers: 30})
	require.Len(t, results, 2)
	require.EqualValues(t, 30*20, results[0].Counts.Expected)
	require.NotNil(t, results[0].Figure("beyond a bare connection"))
}

func TestCrosstalk(t *testing.T) {
	t.Parallel()
	r := tiny(t, "crosstalk", bench.Case{Runs: 2, Observers: 2, Rate: 20})[0]
	value(t, r, "alone p99")
	value(t, r, "beside p99")
	value(t, r, "events of the other run")
}
