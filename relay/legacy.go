package relay

import (
	"encoding/json"
	"errors"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/subjects"
)

// errLegacyGap ends a legacy stream that has lost its place.
var errLegacyGap = errors.New("a legacy stream cannot take a second snapshot")

// legacy is the wire of plain AG-UI, which has neither cursors nor an end of its
// own. A stock client takes the end of the response for success, rejects whatever
// follows a terminal event, and cannot be told to forget what it has. So loss and
// supersession are a RUN_ERROR, unless the agent has said its last word.
type legacy struct {
	started  bool // an event has been sent
	terminal bool // RUN_FINISHED or RUN_ERROR has been sent, and no RUN_STARTED since

	// reset is an event that takes back what the client has of the answer, for behind the
	// RUN_STARTED; nil where it has nothing. A stock client would add the same text to it.
	reset []byte
}

func (l *legacy) name() string { return "legacy" }

func (l *legacy) frame(c *chunks, f *consumer.Frame) error {
	switch f.Type {
	case consumer.Snapshot:
		if l.started {
			l.fail(c, "the connection fell too far behind the run; load the chat again", "stream_gap")
			return errLegacyGap
		}
		for event := range f.Folded().Lines() {
			l.event(c, event)
		}
	case consumer.Event:
		l.event(c, f.Event)
	case consumer.End:
		l.end(c, f.End)
	}
	return nil
}

// event passes an agent's event on, whatever came before it. Some agents go on after
// RUN_FINISHED, with another RUN_STARTED or against the rules without one: what a
// client makes of that from the agent, it has to make of it here.
func (l *legacy) event(c *chunks, raw []byte) {
	l.started = true
	c.legacy(raw)
	var e agui.Event
	if agui.Scan(raw, &e) != nil {
		return
	}
	switch {
	case agui.IsTerminal(e.Type):
		l.terminal = true
	case e.Type == agui.RunStarted:
		l.terminal = false
		if l.reset != nil {
			c.legacy(l.reset)
		}
	}
	l.reset = nil
}

// end closes cleanly only what a stock client may take for success.
func (l *legacy) end(c *chunks, end subjects.End) {
	switch {
	case end.Superseded:
		l.fail(c, "a newer run took the chat", "superseded")
	case end.Reason == subjects.ReasonDone:
	case end.Reason == subjects.ReasonAbandoned:
		l.fail(c, "the agent was lost before it finished", string(end.Reason))
	case end.Reason == subjects.ReasonStopped:
		l.fail(c, "the run was stopped", string(end.Reason))
	case end.Reason == subjects.ReasonSaveFailed, end.Reason == subjects.ReasonSkipped:
		l.fail(c, "the answer was not saved", string(end.Reason))
	default:
		l.fail(c, "the run failed", string(subjects.ReasonError))
	}
}

// leave has no cursor to offer: whatever cuts a legacy stream short is an error.
func (l *legacy) leave(c *chunks, _ cause) {
	l.fail(c, "the connection was closed before the run ended; load the chat again", "stream_closed")
}

// fail appends a RUN_ERROR, unless the client has had its terminal event.
func (l *legacy) fail(c *chunks, message, code string) {
	if l.terminal {
		return
	}
	l.terminal = true
	event, err := json.Marshal(struct {
		Type    agui.Type `json:"type"`
		Message string    `json:"message"`
		Code    string    `json:"code"`
	}{agui.RunError, message, code})
	if err != nil {
		panic(err) // a struct of strings always marshals
	}
	c.legacy(event)
}
