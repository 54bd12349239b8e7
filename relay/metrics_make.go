package relay

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rejoin/rejoin/consumer"
)

func (m *Metrics) gauge(name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	m.registry.MustRegister(g)
	return g
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	m.registry.MustRegister(c)
	return c
}

// vector makes a counter with one label. All its series exist from the start, so
// that a rate over one of them is right from its first count on.
func (m *Metrics) vector(name, help, label string, values []string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	for _, value := range values {
		v.WithLabelValues(value)
	}
	m.registry.MustRegister(v)
	return v
}

// histogram makes one for seconds, from a millisecond to half a minute.
func (m *Metrics) histogram(name, help string) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help,
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}})
	m.registry.MustRegister(h)
	return h
}

// oneOf is s where that is an allowed value, otherwise other.
func oneOf(s string, allowed []string) string {
	if slices.Contains(allowed, s) {
		return s
	}
	return other
}

// frameCounts is a counter for each type of frame, looked up once and not for every frame.
// nil counts nothing.
type frameCounts [consumer.End + 1]prometheus.Counter

func newFrameCounts(v *prometheus.CounterVec) *frameCounts {
	var c frameCounts
	for t := consumer.Snapshot; t <= consumer.End; t++ {
		c[t] = v.WithLabelValues(t.String())
	}
	return &c
}

func (c *frameCounts) add(t consumer.FrameType, n int) {
	if c != nil {
		c[t].Add(float64(n))
	}
}
