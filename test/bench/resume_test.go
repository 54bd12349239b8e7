package bench_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/bench/report"
)

func TestResume(t *testing.T) {
	t.Parallel()
	results := measured(t, "resume", "4,096 × 200 B", time.Second)
	require.Len(t, results, 3)
	rejoin, bare, plain := results[0], results[1], results[2]
	require.Equal(t, report.BareSSE, bare.System)
	require.Equal(t, report.Copy, plain.System)
	for _, way := range []string{"cold", "100 back"} {
		for _, r := range results[:2] {
			first, whole := value(t, r, way+" first p50"), value(t, r, way+" whole p50")
			require.LessOrEqual(t, first, whole)
			require.LessOrEqual(t, whole, value(t, r, way+" whole p99"))
		}
		require.Equal(t, report.BareSSE, rejoin.Figure(way+" whole p50").Over)
		require.Positive(t, rejoin.Figure(way+" whole p50").Ratio)
	}
	value(t, rejoin, "head first p50")
	require.Nil(t, bare.Figure("head first p50"), "it has nothing to say there")
	// Cold, everything; from 100 back, those; from the head, nothing.
	require.EqualValues(t, 100*(4095+100), rejoin.Counts.Expected)
	require.Equal(t, rejoin.Counts.Expected, bare.Counts.Expected)
	for _, name := range []string{"relay", "broker", "generator"} {
		require.Contains(t, rejoin.CPUShare, name)
	}
	require.Contains(t, bare.CPUShare, "floor")
}
