package bench

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/bench/report"
)

func TestAnyWrongResultIsAnError(t *testing.T) {
	t.Parallel()
	right := report.Result{Counts: report.Counts{Expected: 1, Delivered: 1, Late: 1}}
	require.NoError(t, judge(nil))
	require.NoError(t, judge([]report.Result{right, right}))
	for _, c := range []report.Counts{{Missing: 1}, {Doubled: 1}, {OutOfOrder: 1}} {
		err := judge([]report.Result{right, {Counts: c}})
		require.ErrorIs(t, err, ErrWrong)
		require.ErrorContains(t, err, "1 of 2 results")
	}
}

// A round is short only if every workload has a part in it; a case can be asked for only if
// it has a name of its own.
func TestTheTableOfWorkloads(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, w := range Workloads() {
		require.False(t, names[w.Name], w.Name)
		names[w.Name] = true
		require.NotEmpty(t, w.Summary)
		require.False(t, strings.ContainsAny(w.Name, ", "), w.Name)
		require.NotNil(t, w.Run)
		cases, short := map[string]bool{}, 0
		for _, c := range w.Cases {
			require.False(t, cases[c.Name], c.Name)
			cases[c.Name] = true
			if c.Short {
				short++
			}
		}
		require.Positive(t, short, w.Name)
	}
}

func TestWhatIsChosen(t *testing.T) {
	t.Parallel()
	all, err := (&Config{}).chosen()
	require.NoError(t, err)
	require.Len(t, all, len(Workloads()))

	some, err := (&Config{Workloads: []string{"ingest"}, Case: "streamed", Short: true}).chosen()
	require.NoError(t, err)
	require.Len(t, some, 1)
	require.Len(t, some[0].Cases, 2)

	_, err = (&Config{Workloads: []string{"sleep"}}).chosen()
	require.ErrorIs(t, err, ErrNone)
	require.ErrorContains(t, err, `no workload "sleep", allowed are resume, `)
	_, err = (&Config{Case: "no such case"}).chosen()
	require.ErrorIs(t, err, ErrNone)
	require.ErrorContains(t, err, `"no such case"`)
}

func TestNamesOfCases(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 100_000: "100,000", 1_000_007: "1,000,007"} {
		require.Equal(t, want, thousands(n))
	}
	require.Equal(t, "200 B", bytesText(200))
	require.Equal(t, "1 KiB", bytesText(1024))
	require.Equal(t, "1 run", counting(1, "run"))
	require.Equal(t, "1,000 runs", counting(1000, "run"))
}
