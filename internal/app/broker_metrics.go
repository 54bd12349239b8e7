package app

import (
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rejoin/rejoin/internal/ops"
)

// broker counts what the connection does, and makes the canary of the process.
func (m *metrics) broker(b *broker) *ops.Canary {
	m.reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "rejoin_broker_connected", Help: "1 while the connection to the broker is up."},
		func() float64 {
			if b.nc.IsConnected() {
				return 1
			}
			return 0
		}))
	for _, c := range []struct {
		name, help string
		value      func(nats.Statistics) uint64
	}{
		{"rejoin_broker_reconnects_total", "Times that the connection to the broker came back.",
			func(s nats.Statistics) uint64 { return s.Reconnects }},
		{"rejoin_broker_received_messages_total", "Messages that came from the broker.",
			func(s nats.Statistics) uint64 { return s.InMsgs }},
		{"rejoin_broker_received_bytes_total", "Bytes of the messages that came from the broker.",
			func(s nats.Statistics) uint64 { return s.InBytes }},
		{"rejoin_broker_sent_messages_total", "Messages sent to the broker.",
			func(s nats.Statistics) uint64 { return s.OutMsgs }},
		{"rejoin_broker_sent_bytes_total", "Bytes of the messages sent to the broker.",
			func(s nats.Statistics) uint64 { return s.OutBytes }},
	} {
		m.reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: c.name, Help: c.help},
			func() float64 { return float64(c.value(b.nc.Stats())) }))
	}
	took := m.seconds("rejoin_broker_canary_seconds", "How long the broker took to answer the canary, or not to.")
	failed := m.counter("rejoin_broker_canary_failures_total", "Times that the broker did not answer the canary within a second.")
	return ops.NewCanary(ops.CanaryConfig{Ping: b.store.Ping, Asked: func(d time.Duration, err error) {
		took.Observe(d.Seconds())
		if err != nil {
			failed.Inc()
		}
	}})
}
