package app

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/producer/ingest"
	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/subjects"
)

// metrics are all numbers of the process, on one registry: the relay's own, and what
// producers and the connection count. No label ever holds what a user sent.
type metrics struct {
	reg   *prometheus.Registry
	relay *relay.Metrics
}

func newMetrics(version string, b *broker) *metrics {
	m := &metrics{reg: prometheus.NewRegistry()}
	m.relay = relay.NewMetrics(m.reg)
	m.reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "rejoin_broker_connected", Help: "1 while the connection to the broker is up."},
		func() float64 {
			if b.nc.IsConnected() {
				return 1
			}
			return 0
		}))
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

func (m *metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.reg.MustRegister(c)
	return c
}

// seconds is a histogram from a tenth of a millisecond to ten seconds: acks take
// fractions of the first and outages most of the last.
func (m *metrics) seconds(name, help string) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help,
		Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}})
	m.reg.MustRegister(h)
	return h
}

func result(err error) string {
	if err != nil {
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
	checkpoints := m.counters("rejoin_checkpoints_total", "Segments stored, or not, by result.", "result")
	took := m.seconds("rejoin_checkpoint_seconds", "How long storing a segment took.")
	saves := m.counters("rejoin_saves_total", "Saves of the application, by result.", "result")
	stalls := m.counter("rejoin_publish_stalls_total", "Times that publishing waited for a checkpoint.")
	fences := m.counter("rejoin_fences_total", "Runs that another writer took from this process.")
	ended := m.counters("rejoin_runs_ended_total", "Ends stored by this process, by reason and outcome.",
		"reason", "persisted", "superseded")
	for _, r := range []string{"stored", "failed"} {
		checkpoints.WithLabelValues(r)
		saves.WithLabelValues(r)
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
		Saved:   func(_ time.Duration, err error) { saves.WithLabelValues(result(err)).Inc() },
		Stalled: stalls.Inc,
		Fenced:  fences.Inc,
		Ended: func(e subjects.End) {
			ended.WithLabelValues(string(e.Reason), strconv.FormatBool(e.Persisted), strconv.FormatBool(e.Superseded)).Inc()
		},
	}
}

func (m *metrics) ingest() ingest.Metrics {
	return ingest.Metrics{
		Abandoned: m.counter("rejoin_ingest_abandoned_total", "Runs fed over HTTP whose producer did not call for the lease time.").Inc,
		Retaken:   m.counter("rejoin_ingest_retaken_total", "Runs fed over HTTP that this process took over.").Inc,
	}
}
