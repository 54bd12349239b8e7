package app

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rejoin/rejoin/producer/worker"
	"github.com/rejoin/rejoin/subjects"
)

// worker counts what a worker in this process does.
func (m *metrics) worker() worker.Metrics {
	running := prometheus.NewGauge(prometheus.GaugeOpts{Name: "rejoin_turns_running", Help: "Turns being answered by this process."})
	m.reg.MustRegister(running)
	waited := m.seconds("rejoin_turn_wait_seconds", "From sending a turn to its beginning, by two clocks.")
	done := m.counters("rejoin_turns_done_total", "Turns answered by this process, by the reason of their run's end.", "reason")
	lost := m.counter("rejoin_turns_lost_total", "Turns whose run was ended by somebody else while this process answered.")
	asked := m.counter("rejoin_questions_total", "Questions put to people by agents of this process.")
	return worker.Metrics{
		Running: func(delta int) { running.Add(float64(delta)) },
		Waited:  func(d time.Duration) { waited.Observe(max(d, 0).Seconds()) },
		Done:    func(why subjects.Reason, _ time.Duration) { done.WithLabelValues(string(why)).Inc() },
		Lost:    lost.Inc,
		Asked:   asked.Inc,
	}
}
