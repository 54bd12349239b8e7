package bench_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/bench/report"
)

func TestIngest(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string]bool{"1 run, 1 a request": true, "1 run, streamed": false, "100 runs, 64 a request": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			results := measured(t, "ingest", name, 300*time.Millisecond)
			require.Len(t, results, 2)
			require.Equal(t, report.JetStream, results[1].System)
			for _, r := range results {
				value(t, r, "stored")
			}
			require.Equal(t, report.JetStream, results[0].Figure("stored").Over)
			require.Equal(t, answers, results[0].Figure("answer p99") != nil)
			require.Contains(t, results[0].Note, "read back")
		})
	}
}
