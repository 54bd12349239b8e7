package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/bench/report"
)

func result() report.Result {
	r := report.Result{Commit: "abc", GoVersion: "go1.26", CPU: "a chip", Cores: 2, SyncInterval: "2m", Partitions: 4,
		Workload: "resume", Case: "10,000 × 200 B", System: report.Rejoin,
		Counts:   report.Counts{Expected: 12345, Delivered: 12345, Late: 3},
		CPUShare: map[string]float64{"relay": 45.4, "broker": 10}}
	r.Add("first p50", "ms", 2.5).AtMost(3).Relative(1.25, report.BareSSE)
	r.Add("stored", "events/s", 90_000).AtLeast(150_000)
	r.Add("CPU a frame", "µs", 6).Relative(5, report.BareSSE).RatioAtMost(1.5)
	r.Add("rest", "", 0)
	return r
}

func TestTheTable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	table := report.NewTable(&b)
	r := result()
	require.NoError(t, table.Add(r))
	r.System, r.Counts, r.CPUShare, r.Note = report.Copy, report.Counts{}, nil, "of 5 bytes"
	r.Figures = r.Figures[:1]
	r.Figures[0] = report.Figure{Name: "first p50", Unit: "ms", Value: 0.0042}
	require.NoError(t, table.Add(r))
	require.Equal(t, `abc, go1.26, 2 cores of a chip; broker with sync_interval 2m, 4 partitions

resume: 10,000 × 200 B
  rejoin           first p50                            2.50 ms        2× bare sse            ≤ 3 ms met
                   stored                             90,000 events/s                         ≥ 150,000 events/s NOT MET
                   CPU a frame                             6 µs        1.20× bare sse         ≤ 1.50× met
                   rest                                    0
                   events                       12,345 of 12,345 delivered, 3 sent late
                   CPU, % of a core             broker 10, relay 45
  copy             first p50                          0.0042 ms
                   of 5 bytes
`, b.String())
}

// However fast it was.
func TestWhatLosesEventsIsMarked(t *testing.T) {
	t.Parallel()
	for _, c := range []report.Counts{{Missing: 1}, {Doubled: 1}, {OutOfOrder: 1}} {
		require.True(t, c.Wrong())
		c.Expected = 10
		var b strings.Builder
		require.NoError(t, report.NewTable(&b).Add(report.Result{Counts: c}))
		require.Contains(t, b.String(), "WRONG")
	}
	require.False(t, report.Counts{Expected: 5, Delivered: 5, Late: 5}.Wrong())
}

func TestLinesAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	want := []report.Result{result(), result()}
	want[1].Case = "another"
	for _, r := range want {
		require.NoError(t, report.WriteLine(&b, r))
	}
	require.Equal(t, 2, strings.Count(b.String(), "\n"))
	got, err := report.ReadLines(&b)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestWhatIsNoFileOfResultsIsNamed(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"goos: linux\n":                     "line 1",
		"{\"workload\":\"w\"}\n":            "line 1 names no",
		"\n\n{]\n":                          "line 3",
		strings.Repeat("x", 2<<20) + "\n\n": "too long",
	} {
		_, err := report.ReadLines(strings.NewReader(text))
		require.ErrorIs(t, err, report.ErrLines)
		require.ErrorContains(t, err, says)
	}
}

func TestComparing(t *testing.T) {
	t.Parallel()
	before, after := result(), result()
	after.Figures[0].Value, after.Figures[0].Ratio = 5, 4
	after.Figures[1].Value = 180_000
	after.Figures = append(after.Figures, report.Figure{Name: "only now", Value: 1})
	fresh := result()
	fresh.Case = "new"
	var b strings.Builder
	require.NoError(t, report.Compare(&b, []report.Result{before}, []report.Result{after, fresh}))
	require.Equal(t, `
resume: 10,000 × 200 B, rejoin
  first p50                            2.50            5 ms           ×2.00 worse   2 → 4× bare sse
  stored                             90,000      180,000 events/s     ×2.00 better
  CPU a frame                             6            6 µs           ×1.00         1.20 → 1.20× bare sse
  rest                                    0            0

1 results are new
`, b.String())

	b.Reset()
	after.CPU, after.SyncInterval = "another chip", "1s"
	require.NoError(t, report.Compare(&b, []report.Result{before}, []report.Result{after}))
	require.Contains(t, b.String(), "not measured alike: cpu was a chip, is another chip; sync_interval was 2m, is 1s.")

	b.Reset()
	require.NoError(t, report.Compare(&b, []report.Result{before}, []report.Result{fresh}))
	require.Contains(t, b.String(), "nothing in it was measured this time")
}

func TestRoundsBecomeMedians(t *testing.T) {
	t.Parallel()
	var rounds [][]report.Result
	for _, v := range []float64{9, 1, 4} {
		r := result()
		r.Figures[0].Value, r.Figures[0].Ratio, r.CPUShare["relay"] = v, 10*v, 2*v
		floor := result()
		floor.System = report.Copy
		floor.Figures[0].Value = -v
		rounds = append(rounds, []report.Result{r, floor})
	}
	rounds[2][0].Counts.Missing = 1 // once is enough
	got := report.Medians(rounds)
	require.Len(t, got, 2)
	require.InDelta(t, 4, got[0].Figures[0].Value, 0)
	require.InDelta(t, 40, got[0].Figures[0].Ratio, 0)
	require.InDelta(t, 8, got[0].CPUShare["relay"], 0)
	require.InDelta(t, -4, got[1].Figures[0].Value, 0)
	require.EqualValues(t, 3*12345, got[0].Counts.Expected)
	require.EqualValues(t, 1, got[0].Counts.Missing)
	require.Equal(t, 3, got[0].Rounds)
	require.Equal(t, rounds[0], report.Medians(rounds[:1]))
	require.Nil(t, report.Medians(nil))
	require.InDelta(t, 9, rounds[0][0].Figures[0].Value, 0, "the rounds themselves stay as they are")
}
