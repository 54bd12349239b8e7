package uimessages

import (
	"encoding/json"

	"github.com/rejoin/rejoin/subjects"
)

// End emits the chunks of a run's end: what is open is closed, the end is told, and then the
// message is finished, aborted, or an error. Only what a client may take for the whole
// answer is finished.
func (m *Mapper) End(end subjects.End, emit Emit) {
	if m.over {
		return
	}
	m.emit = emit
	defer func() { m.emit = nil }()
	m.begin()
	m.endChunked("", nil)
	m.close()
	if told, err := json.Marshal(end); err == nil {
		m.pass("data-rejoin-end", told)
	}
	if why := failure(end); why != "" {
		m.fail(why)
		return
	}
	m.over = true
	m.emit(chunk("finish-step").done()...)
	switch {
	case end.Reason == subjects.ReasonStopped:
		m.emit(chunk("abort").text("reason", "stopped").done()...)
	case m.outcome == "cancelled":
		m.emit(chunk("abort").text("reason", "cancelled").done()...)
	default:
		m.emit(chunk("finish").text("finishReason", m.finishReason()).done()...)
	}
}

// failure is what a client is told of an end that it must not take for success; "" otherwise.
func failure(end subjects.End) string {
	switch {
	case end.Superseded:
		return "a newer run took the chat"
	case end.Reason == subjects.ReasonDone, end.Reason == subjects.ReasonStopped:
		return ""
	case end.Reason == subjects.ReasonAbandoned:
		return "the agent was lost before it finished"
	case end.Reason == subjects.ReasonSaveFailed, end.Reason == subjects.ReasonSkipped:
		return "the answer was not saved"
	}
	return "the run failed"
}

// finishReason says what the run has ended for.
func (m *Mapper) finishReason() string {
	if m.outcome == "interrupt" {
		return "other"
	}
	for _, t := range m.tools {
		if !t.output {
			return "tool-calls"
		}
	}
	return "stop"
}

// fail emits an error, which is the last thing that a client reads.
func (m *Mapper) fail(why string) {
	if why == "" {
		why = "the run failed"
	}
	m.close()
	m.over = true
	m.emit(chunk("error").text("errorText", why).done()...)
}

// close ends whatever is open.
func (m *Mapper) close() {
	for len(m.open) > 0 {
		m.end(m.open[0])
	}
	for _, id := range m.calls {
		m.callEnd(id)
	}
}
