package translate

import (
	"encoding/json"
	"fmt"

	"github.com/rejoin/rejoin/internal/agui"
)

// Config says which turn it is.
type Config struct {
	ChatID string // required
	RunID  string // required
	// Input is the turn's input: an AG-UI RunAgentInput or {"text":"…"}.
	Input json.RawMessage

	// Terminal gives the end of what a terminal has printed so far, as an object like
	// {"output":"…","truncated":true}, nil where it knows none. It shows in the
	// records of tool calls that hold the terminal. It may be nil.
	Terminal func(terminalID string) json.RawMessage
}

// Translator makes the AG-UI events of one turn. Its methods must not be called at once.
//
// An error that matches ErrMalformed means that no event was made. Any other is what
// emit returned first; the events after it were given to emit all the same, so that
// one refused event leaves nothing open.
type Translator struct {
	cfg     Config
	emit    func(event []byte) error
	failed  error // what emit returned first during this call
	ended   bool
	stopped bool

	open     *message // nil when none is
	messages int

	calls   []*call // in the order they started
	started int     // how many calls there were
	kept    int     // bytes of their records
	byID    map[string]*call
}

// New makes a translator for one turn. emit gets the finished events in order, each a
// JSON object on one line that it may keep.
func New(cfg Config, emit func(event []byte) error) *Translator {
	return &Translator{cfg: cfg, emit: emit, byID: map[string]*call{}}
}

// Start begins the turn: RUN_STARTED with the user's message. It has to come first.
func (t *Translator) Start() error {
	input, err := t.input()
	if err != nil {
		return err
	}
	t.send(newEvent(agui.RunStarted).str("threadId", t.cfg.ChatID).str("runId", t.cfg.RunID).raw("input", input))
	return t.sent()
}

// Update takes params.update of one session/update.
func (t *Translator) Update(update json.RawMessage) error {
	if t.ended {
		return ErrEnded
	}
	u, line, err := parse("update", update)
	if err != nil {
		return err
	}
	kind := plain(u.values["sessionUpdate"])
	switch kind {
	case "":
		return malformed("update", `its "sessionUpdate" has to be a non-empty string that names its kind`)
	case "agent_message_chunk":
		err = t.chunk(text, u, line)
	case "agent_thought_chunk":
		err = t.chunk(thought, u, line)
	case "tool_call", "tool_call_update":
		_, err = t.toolCall(kind, u)
	case "plan":
		err = t.plan(u)
	default:
		t.custom(kind, line)
	}
	if err != nil {
		return err
	}
	return t.sent()
}

// Stopped tells that the turn was stopped from outside. Finish then says that it was
// cancelled, whatever reason the agent gives: some end well when they are cancelled.
func (t *Translator) Stopped() { t.stopped = true }

// Finish ends the turn with the result of session/prompt: what is open is closed, calls
// that have no end get one, and RUN_FINISHED carries the result.
func (t *Translator) Finish(result json.RawMessage) error {
	if t.ended {
		return ErrEnded
	}
	r, line, err := parse("session/prompt result", result)
	if err != nil {
		return err
	}
	reason := plain(r.values["stopReason"])
	if reason == "" {
		return malformed("session/prompt result", `its "stopReason" has to be a non-empty string`)
	}
	t.close(`"cancelled"`)
	e := newEvent(agui.RunFinished).str("threadId", t.cfg.ChatID).str("runId", t.cfg.RunID).raw("result", line)
	if reason == "cancelled" || t.stopped {
		e = e.raw("outcome", []byte(`{"type":"cancelled"}`))
	}
	return t.end(e)
}

// Fail ends the turn with RUN_ERROR, after closing what is open. A code of "" is left out.
func (t *Translator) Fail(message, code string) error {
	if t.ended {
		return ErrEnded
	}
	t.close(`"failed"`)
	e := newEvent(agui.RunError).str("message", message)
	if code != "" {
		e = e.str("code", code)
	}
	return t.end(e)
}

// close closes everything. Calls without an end get this status.
func (t *Translator) close(status string) {
	t.closeMessage()
	for _, c := range t.calls {
		t.closeCall(c, status)
	}
}

func (t *Translator) end(e event) error {
	t.ended = true
	t.send(e)
	return t.sent()
}

// send gives an event away. What emit says of it is kept for sent.
func (t *Translator) send(e event) {
	if err := t.emit(e.end()); err != nil && t.failed == nil {
		t.failed = err
	}
}

// sent says how the sends of this call went.
func (t *Translator) sent() error {
	err := t.failed
	t.failed = nil
	return err
}

// id makes an id: its kind's prefix, the run, and a number where there are several.
func (t *Translator) id(kind string, n int) string {
	if n == 0 {
		return kind + "-" + t.cfg.RunID
	}
	return fmt.Sprintf("%s-%s-%d", kind, t.cfg.RunID, n)
}
