package stats_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rejoin/rejoin/internal/bench/stats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestQuantilesAreRightWithinOnePercent(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for _, most := range []int64{100, 10_000, 1e6, 1e9, 1e12} {
		var h, a, b stats.Histogram
		var all []time.Duration
		for i := range 20_000 {
			d := time.Duration(random.Int64N(most))
			all = append(all, d)
			h.Record(d)
			if i%3 == 0 {
				a.Record(d)
			} else {
				b.Record(d)
			}
		}
		slices.Sort(all)
		a.Merge(&b)
		require.Equal(t, h.Count(), a.Count())
		require.EqualValues(t, len(all), h.Count())
		require.Equal(t, all[0], h.Min())
		require.Equal(t, all[len(all)-1], h.Max())
		for _, q := range []float64{0, 0.01, 0.5, 0.9, 0.99, 0.999, 1} {
			want := all[min(int(q*float64(len(all))), len(all)-1)]
			require.InDelta(t, want, h.Quantile(q), 1+float64(want)/100, "%d, %v", most, q)
			require.Equal(t, h.Quantile(q), a.Quantile(q), "merged, it is the same")
		}
		var sum float64
		for _, d := range all {
			sum += float64(d)
		}
		require.InDelta(t, sum/float64(len(all)), h.Mean(), 1)
	}
}

func TestAHistogramTakesAnything(t *testing.T) {
	t.Parallel()
	var h stats.Histogram
	require.Zero(t, h.Quantile(0.5))
	require.Zero(t, h.Mean())
	h.Merge(new(stats.Histogram))
	require.Zero(t, h.Count())
	h.Record(-time.Second)
	require.Zero(t, h.Max())
	h.Record(1000 * time.Hour)
	require.Equal(t, 1000*time.Hour, h.Max())
	require.Greater(t, h.Quantile(1), time.Hour)
	var o stats.Histogram
	o.Record(time.Minute)
	h.Merge(&o)
	o.Merge(&h)
	require.EqualValues(t, 4, o.Count())
	require.Zero(t, o.Min())
}

func TestAScheduleIsEven(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_764_531_000, 0)
	s := stats.Schedule{Start: start, Every: 50 * time.Millisecond, Streams: 1000, Phase: time.Millisecond}
	require.Equal(t, start.Add(time.Millisecond), s.Due(0))
	require.Equal(t, 50*time.Microsecond, s.Due(1).Sub(s.Due(0)))
	require.Equal(t, 50*time.Millisecond, s.Due(1007).Sub(s.Due(7)), "each stream has its own pace")
	require.Equal(t, 7, s.Stream(1007))
	require.EqualValues(t, 0, s.Passed(start))
	for _, k := range []uint64{0, 1, 999, 1000, 123_456} {
		require.Equal(t, k+1, s.Passed(s.Due(k)), "due is due at its very time")
		require.Equal(t, k, s.Passed(s.Due(k).Add(-time.Nanosecond)))
	}
	odd := stats.Schedule{Start: start, Every: time.Second, Streams: 3}
	for k := range uint64(100) {
		require.Equal(t, odd.Due(k).Add(time.Second), odd.Due(k+3), "no rounding adds up")
	}
	require.Equal(t, start.Add(2*time.Second), stats.Schedule{Start: start, Every: time.Second}.Due(2))
}

func TestLatenessCountsWhatWasNotInTime(t *testing.T) {
	t.Parallel()
	var l stats.Lateness
	due := time.Unix(1_764_531_000, 0)
	l.Sent(due, due)
	l.Sent(due, due.Add(stats.Tolerance))
	l.Sent(due, due.Add(stats.Tolerance+1))
	l.Sent(due, due.Add(time.Second))
	require.Equal(t, stats.Lateness{Sends: 4, Late: 2, Worst: time.Second}, l)
	l.Add(stats.Lateness{Sends: 1, Worst: 2 * time.Second})
	require.Equal(t, stats.Lateness{Sends: 5, Late: 2, Worst: 2 * time.Second}, l)
}

func TestRecordingAllocatesNothing(t *testing.T) {
	var h stats.Histogram
	var l stats.Lateness
	s := stats.Schedule{Start: time.Unix(1, 0), Every: time.Millisecond, Streams: 7}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		h.Record(time.Millisecond)
		l.Sent(s.Due(5), s.Due(6))
	}))
}

func BenchmarkRecord(b *testing.B) {
	var h stats.Histogram
	for b.Loop() {
		h.Record(12_345_678)
	}
}
