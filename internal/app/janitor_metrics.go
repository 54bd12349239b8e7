package app

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// janitorReasons are why a janitor ends runs.
var janitorReasons = []string{string(subjects.ReasonAbandoned), string(subjects.ReasonSuperseded), string(subjects.ReasonError)}

// JanitorMetrics counts what a janitor does, on a registry.
func JanitorMetrics(reg *prometheus.Registry) runs.JanitorMetrics {
	m := &metrics{reg: reg}
	ended := m.vector("rejoin_janitor_ended_total", "Runs that got their end from the janitor, by reason.", "reason", janitorReasons)
	evicted := m.counter("rejoin_janitor_evicted_total", "Ended runs that left.")
	expired := m.counter("rejoin_janitor_turns_expired_total", "Turns that no worker took in time; each has ended as an error.")
	repaired := m.counter("rejoin_janitor_turns_repaired_total", "Turns put into the work queue that were missing there.")
	strays := m.counter("rejoin_janitor_strays_total", "Logs and segments removed that belonged to no run.")
	took := m.seconds("rejoin_janitor_sweep_seconds", "How long a sweep took.")
	failed := m.counter("rejoin_janitor_sweep_errors_total", "Sweeps that did not finish; the next one goes on.")
	last := prometheus.NewGauge(prometheus.GaugeOpts{Name: "rejoin_janitor_last_sweep_timestamp_seconds",
		Help: "When a sweep finished last, by this process's clock; 0 before the first."})
	m.reg.MustRegister(last)
	return runs.JanitorMetrics{
		Ended:    func(r subjects.Reason) { ended.WithLabelValues(oneOf(string(r), janitorReasons)).Inc() },
		Evicted:  evicted.Inc,
		Expired:  expired.Inc,
		Repaired: repaired.Inc,
		Stray:    strays.Inc,
		Swept: func(d time.Duration, err error) {
			took.Observe(d.Seconds())
			if err != nil {
				failed.Inc()
				return
			}
			last.SetToCurrentTime()
		},
	}
}

// other is what a label says of a value that it has no name for.
const other = "other"

// oneOf is s where that is an allowed value, otherwise other.
func oneOf(s string, allowed []string) string {
	if slices.Contains(allowed, s) {
		return s
	}
	return other
}
