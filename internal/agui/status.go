package agui

import "encoding/json"

// How a question stands; see StatusOf.
const (
	StatusSelected  = "selected"
	StatusAccepted  = "accepted"
	StatusDeclined  = "declined"
	StatusCancelled = "cancelled"
	StatusAnswered  = "answered"
	StatusExpired   = "expired" // the run ended, was replaced, or lost its producer
)

// StatusOf is the status that an answer gives its question. The forms are those of ACP:
// {"outcome":"selected"|"cancelled"} for a choice, {"action":"accept"|"decline"|"cancel"}
// for a form; any other object is an answer too.
func StatusOf(outcome json.RawMessage) string {
	var o struct {
		Outcome string `json:"outcome"`
		Action  string `json:"action"`
	}
	if json.Unmarshal(outcome, &o) != nil {
		return StatusAnswered
	}
	switch {
	case o.Outcome == "selected":
		return StatusSelected
	case o.Outcome == "cancelled", o.Action == "cancel":
		return StatusCancelled
	case o.Action == "accept":
		return StatusAccepted
	case o.Action == "decline":
		return StatusDeclined
	}
	return StatusAnswered
}
