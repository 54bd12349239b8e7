package app

import (
	"errors"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/producer/ingest"
	"github.com/rejoin/rejoin/subjects"
)

// metrics are all numbers of the process, on one registry: those of the Go runtime and of
// the process, and what the parts count that its role has. No label ever holds what a user
// sent, and all series exist from the start.
type metrics struct {
	reg *prometheus.Registry
}

func newMetrics(version string) *metrics {
	m := &metrics{reg: prometheus.NewRegistry()}
	m.reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	v := ReadVersion(version)
	m.reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "rejoin_build_info", Help: "Always 1; what was built is in the labels.",
		ConstLabels: prometheus.Labels{"version": v.Version, "commit": v.Commit, "go": v.Go}},
		func() float64 { return 1 }))
	return m
}

func (m *metrics) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	m.reg.MustRegister(c)
	return c
}

// vector is a counter with one label, whose values are these and other.
func (m *metrics) vector(name, help, label string, values []string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	for _, v := range values {
		c.WithLabelValues(v)
	}
	m.reg.MustRegister(c)
	return c
}

func (m *metrics) gauge(name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	m.reg.MustRegister(g)
	return g
}

// seconds is a histogram from a tenth of a millisecond to ten seconds: acks take
// fractions of the first and outages most of the last.
func (m *metrics) seconds(name, help string) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help,
		Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}})
	m.reg.MustRegister(h)
	return h
}

// minutes is a histogram for what takes as long as an agent does.
func (m *metrics) minutes(name, help string) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help,
		Buckets: []float64{.1, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}})
	m.reg.MustRegister(h)
	return h
}

// endReasons are why runs end.
var endReasons = []string{string(subjects.ReasonDone), string(subjects.ReasonError), string(subjects.ReasonStopped),
	string(subjects.ReasonSuperseded), string(subjects.ReasonAbandoned), string(subjects.ReasonSaveFailed),
	string(subjects.ReasonSkipped)}

// results are how storing something may end.
var results = []string{"stored", "skipped", "failed"}

func result(err error) string {
	switch {
	case errors.Is(err, producer.ErrSkipped):
		return "skipped"
	case err != nil:
		return "failed"
	}
	return "stored"
}

func (m *metrics) producer() producer.Metrics {
	started := m.counter("rejoin_runs_started_total", "Runs started by this process.")
	resumed := m.counter("rejoin_runs_resumed_total", "Runs that this process took over.")
	published := m.counter("rejoin_published_events_total", "Events accepted from producers.")
	publishedBytes := m.counter("rejoin_published_bytes_total", "Bytes of the events accepted.")
	acks := m.counter("rejoin_acks_total", "Records that the broker acknowledged.")
	acked := m.counter("rejoin_acked_events_total", "Events in those records.")
	latency := m.seconds("rejoin_ack_seconds", "From sending a record to its acknowledgement, retries included.")
	checkpoints := m.vector("rejoin_checkpoints_total", "Segments stored, or not, by result.", "result", []string{"stored", "failed"})
	took := m.seconds("rejoin_checkpoint_seconds", "How long storing a segment took.")
	saves := m.vector("rejoin_saves_total", "Saves of the application, by result; skipped is a stale revision.", "result", results)
	saveTook := m.seconds("rejoin_save_seconds", "How long the application's save took, or its time was.")
	stalls := m.counter("rejoin_publish_stalls_total", "Times that publishing waited for a checkpoint.")
	fences := m.counter("rejoin_fences_total", "Runs that another writer took from this process.")
	ended := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rejoin_runs_ended_total",
		Help: "Ends stored by this process, by reason and outcome."}, []string{"reason", "persisted", "superseded"})
	m.reg.MustRegister(ended)
	for _, reason := range endReasons {
		for _, b := range []string{"false", "true"} {
			ended.WithLabelValues(reason, b, "false")
			ended.WithLabelValues(reason, b, "true")
		}
	}
	return producer.Metrics{
		Started:   started.Inc,
		Resumed:   resumed.Inc,
		Published: func(bytes int) { published.Inc(); publishedBytes.Add(float64(bytes)) },
		Stored: func(events, _ int, d time.Duration) {
			acks.Inc()
			acked.Add(float64(events))
			latency.Observe(d.Seconds())
		},
		Checkpoint: func(_, _ int, d time.Duration, err error) {
			checkpoints.WithLabelValues(result(err)).Inc()
			took.Observe(d.Seconds())
		},
		Saved: func(d time.Duration, err error) {
			saves.WithLabelValues(result(err)).Inc()
			saveTook.Observe(d.Seconds())
		},
		Stalled: stalls.Inc,
		Fenced:  fences.Inc,
		Ended: func(e subjects.End) {
			ended.WithLabelValues(oneOf(string(e.Reason), endReasons), strconv.FormatBool(e.Persisted), strconv.FormatBool(e.Superseded)).Inc()
		},
	}
}

func (m *metrics) ingest() ingest.Metrics {
	return ingest.Metrics{
		Abandoned: m.counter("rejoin_ingest_abandoned_total", "Runs fed over HTTP whose producer did not call for the lease time.").Inc,
		Retaken:   m.counter("rejoin_ingest_retaken_total", "Runs fed over HTTP that this process took over.").Inc,
	}
}
