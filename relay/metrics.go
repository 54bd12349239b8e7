package relay

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/rejoin/rejoin/consumer"
)

// Metrics are the numbers of a relay and of its hub. Every label
// has a fixed set of values, so the number of series never grows. A nil *Metrics is
// not usable; Config without one gets its own.
type Metrics struct {
	registry *prometheus.Registry

	observers   prometheus.Gauge
	waiters     prometheus.Gauge
	refused     *prometheus.CounterVec
	credentials *prometheus.CounterVec
	opened      *prometheus.CounterVec
	closed      *prometheus.CounterVec
	frames      *frameCounts
	bytes       prometheus.Counter
	panics      prometheus.Counter

	connections  prometheus.Gauge
	turnedAway   *prometheus.CounterVec
	sendsRefused *prometheus.CounterVec
	held         prometheus.Gauge
	holdWaiting  prometheus.Gauge

	switched prometheus.Gauge
	requests *prometheus.CounterVec
	turns    *prometheus.CounterVec

	tails     prometheus.Gauge
	snapshots *prometheus.CounterVec
	gaps      prometheus.Counter
	replayed  prometheus.Counter
	catchUp   prometheus.Histogram
	silence   prometheus.Counter
}

// The values that labels may have, besides other.
var (
	closeCauses = []string{string(causeEnd), string(causeAge), string(causeDrain), string(causeClient), string(causeStalled),
		string(causeGone), string(causeBroker), string(causeBehind), string(causeGap), string(causeError), string(causeSwitchedOff), string(causeExpired)}
	snapshotCauses = []string{"attach", "replaced", "ahead", "window", "gap"}
	frameTypes     = []string{consumer.Snapshot.String(), consumer.Event.String(), consumer.Synced.String(), consumer.End.String()}
	refusals       = []string{"full", "owner", "run", "draining", "switched_off"}
	wires          = []string{protocol1{}.name(), (*legacy)(nil).name(), (*uiWire)(nil).name(), wireControls, wireActive, wireShared}
	sends          = []string{"started", "queued", "steered", "repeated"}
)

const other = "other"

// NewMetrics makes the metrics and registers them, and those of the Go runtime and
// the process where nobody has yet. A nil registry means a new one. It panics when
// called twice with the same registry.
func NewMetrics(reg *prometheus.Registry) *Metrics {
	if reg == nil {
		reg = prometheus.NewRegistry()
	}
	m := &Metrics{registry: reg}
	m.observe()
	m.read()
	for _, c := range []prometheus.Collector{collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})} {
		if err := reg.Register(c); err != nil && !errors.As(err, &prometheus.AlreadyRegisteredError{}) {
			panic(err)
		}
	}
	return m
}

// Registry is where the metrics are registered; others may add theirs.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

func (m *Metrics) observe() {
	m.observers = m.gauge("rejoin_observers", "Open streams.")
	m.waiters = m.gauge("rejoin_waiters", "Requests that wait for a run to appear in an idle chat.")
	m.refused = m.vector("rejoin_observers_refused_total", "Requests for a stream that were refused, by why.", "why", refusals)
	m.opened = m.vector("rejoin_streams_opened_total", "Streams opened, by wire.", "wire", wires)
	m.closed = m.vector("rejoin_streams_closed_total", "Streams closed, by cause.", "cause", closeCauses)
	m.frames = newFrameCounts(m.vector("rejoin_frames_total", "Frames written, by type.", "type", frameTypes))
	m.bytes = m.counter("rejoin_stream_bytes_total", "Bytes written to streams, before any transfer encoding.")
	m.limited()
	m.credentials = m.vector("rejoin_credentials_refused_total", "Requests refused for their credential, by why; the reasons are in the log.", "why", credentialRefusals)
	m.panics = m.counter("rejoin_http_panics_total", "Panics in handlers; each is a fault to report.")
	m.switched = m.gauge("rejoin_switched_off_percent", "Percentage of all tenants' chats that may not be watched.")
	m.turns = m.vector("rejoin_turns_taken_total", "Messages taken, by what became of them.", "how", sends)
	m.requests = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rejoin_http_requests_total",
		Help: "Requests answered, by route pattern, method and status class."}, []string{"route", "method", "status"})
	m.registry.MustRegister(m.requests)
}

func (m *Metrics) read() {
	m.tails = m.gauge("rejoin_tails", "Runs that have at least one observer here.")
	m.snapshots = m.vector("rejoin_snapshots_total", "Snapshots given out, by cause.", "cause", snapshotCauses)
	m.gaps = m.counter("rejoin_gaps_total", "Open streams that fell out of what can be replayed and got a snapshot.")
	m.replayed = m.counter("rejoin_replayed_events_total", "Events read from logs for observers and snapshots.")
	m.catchUp = m.histogram("rejoin_catchup_seconds", "From attaching to a run to having everything up to its head.")
	m.silence = m.counter("rejoin_silence_found_total", "Times that asking a quiet run found what the live subject had not brought.")
}

// Hub gives the functions that count for a hub.
func (m *Metrics) Hub() consumer.HubMetrics {
	return consumer.HubMetrics{
		Tails:    func(delta int) { m.tails.Add(float64(delta)) },
		Snapshot: func(cause string) { m.snapshots.WithLabelValues(oneOf(cause, snapshotCauses)).Inc() },
		Held: func(bytes int64, waiting int) {
			m.held.Set(float64(bytes))
			m.holdWaiting.Set(float64(waiting))
		},
		Gap:          m.gaps.Inc,
		Replay:       func(events int) { m.replayed.Add(float64(max(events, 0))) },
		CatchUp:      func(d time.Duration) { m.catchUp.Observe(d.Seconds()) },
		SilenceFound: m.silence.Inc,
	}
}
