package harness

import (
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
)

// Eventually waits until met says so. It is for what gives no signal of its own.
func Eventually(t testing.TB, what string, met func() bool) {
	t.Helper()
	for late := time.Now().Add(Patience); !met(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(late) {
			require.FailNow(t, "it never happened", what)
		}
	}
}

// Number is what the relay counts under a name, summed over the series that carry one
// of the label values, or over all where none is given. Of a histogram it is the number
// of samples.
func (r *Relay) Number(name string, values ...string) float64 {
	r.Helper()
	families, err := r.Metrics.Registry().Gather()
	require.NoError(r, err)
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		sum := 0.0
		for _, m := range f.GetMetric() {
			if len(values) == 0 || carries(m, values) {
				sum += m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
		return sum
	}
	require.FailNow(r, "no such number", name)
	return 0
}

func carries(m *dto.Metric, values []string) bool {
	for _, label := range m.GetLabel() {
		for _, v := range values {
			if label.GetValue() == v {
				return true
			}
		}
	}
	return false
}
