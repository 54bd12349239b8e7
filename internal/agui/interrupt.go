package agui

import (
	"bytes"
	"encoding/json"
)

// Interrupt is something that a run has ended to wait for. The run after it says how
// it was decided.
type Interrupt struct {
	ID      string
	Reason  string
	Message string          // "" for none
	Raw     json.RawMessage // as written; nil where it is larger than MaxKept
}

// Interrupts returns what a RUN_FINISHED with the outcome interrupt waits for, 64 at
// most; nil for any other event. An interrupt without an id cannot be answered and is
// left out.
func Interrupts(e *Event) []Interrupt {
	if e.Type != RunFinished {
		return nil
	}
	outcome := e.field("outcome")
	if kind, _ := inside(member(outcome, "type")); !same(kind, "interrupt") {
		return nil
	}
	var all []Interrupt
	for raw := range elements(member(outcome, "interrupts")) {
		id := ident(raw, "id")
		if id == "" {
			continue
		}
		if len(all) == maxInterrupts {
			break
		}
		it := Interrupt{ID: id, Reason: words(raw, "reason"), Message: words(raw, "message")}
		if len(raw) <= MaxKept {
			it.Raw = bytes.Clone(raw)
		}
		all = append(all, it)
	}
	return all
}
