package app

import (
	"time"

	"github.com/rejoin/rejoin/producer/worker"
	"github.com/rejoin/rejoin/subjects"
)

// failures are the ways in which agents fail; see worker.Metrics.
var failures = []string{string(worker.FailedError), string(worker.FailedPanic), string(worker.FailedStuck)}

// worker counts what a worker in this process does.
func (m *metrics) worker() worker.Metrics {
	claimed := m.counter("rejoin_turns_claimed_total", "Turns that this process took out of the work queue.")
	begun := m.counter("rejoin_turns_begun_total", "Turns that this process began to answer.")
	running := m.gauge("rejoin_turns_running", "Turns being answered by this process.")
	waited := m.seconds("rejoin_turn_wait_seconds", "From sending a turn to its beginning, by two clocks.")
	ended := m.vector("rejoin_turns_ended_total", "Turns answered by this process, by the reason of their run's end.", "reason", endReasons)
	took := m.minutes("rejoin_turn_seconds", "From beginning a turn to its run's end.")
	lost := m.counter("rejoin_turns_lost_total", "Turns whose run was ended by somebody else while this process answered.")
	failed := m.vector("rejoin_agent_failures_total",
		"Turns whose agent returned an error, panicked, or did not stop when it was told to, by which.", "how", failures)
	asked := m.counter("rejoin_questions_total", "Questions put to people by agents of this process.")
	open := m.gauge("rejoin_questions_open", "Questions of agents of this process that wait for their answer.")
	return worker.Metrics{
		Claimed: claimed.Inc,
		Begun:   begun.Inc,
		Running: func(delta int) { running.Add(float64(delta)) },
		Waited:  func(d time.Duration) { waited.Observe(max(d, 0).Seconds()) },
		Done: func(why subjects.Reason, d time.Duration) {
			ended.WithLabelValues(oneOf(string(why), endReasons)).Inc()
			took.Observe(d.Seconds())
		},
		Lost:   lost.Inc,
		Failed: func(how worker.Failure) { failed.WithLabelValues(oneOf(string(how), failures)).Inc() },
		Asked:  asked.Inc,
		Asking: func(delta int) { open.Add(float64(delta)) },
	}
}
