package agent

import (
	"encoding/json"

	"github.com/rejoin/rejoin/internal/agui"
)

// Question is something only a person can decide. It appears in the run as
//
//	CUSTOM <Name>.request    value: Value with requestId, messageId and "status":"pending"
//	ACTIVITY_SNAPSHOT        messageId, activityType <Name>, content: the same
//
// and, once it is closed, as CUSTOM <Name>.resolved and a further ACTIVITY_SNAPSHOT
// of the same messageId, whose status is not pending any more. So every replay tells
// whether it is open.
type Question struct {
	Name string // what kind, such as acp.permission; at most 64 bytes

	// Value is what people need to know to decide. requestId, messageId and status in it
	// are set by the fabric, and options, unless it has its own, to Options.
	Value map[string]any

	// Options are the ids that an answer {"outcome":"selected","optionId":…} may
	// choose from. With none, a Value with a requestedSchema takes a form's answer
	// (see Accepted, Declined and Cancelled), and any other any object; see StatusOf.
	Options []string

	// Asked, if set, is called once by Ask as soon as the question has its place among
	// the turn's events, or will have none: what is published from then on comes after
	// it.
	Asked func()
}

// Answer is what was decided.
type Answer struct {
	RequestID string // unique among all questions of all runs
	Status    Status
	// Outcome is the answer as given, a JSON object.
	Outcome json.RawMessage
}

// Status says how a question stands.
type Status string

// The statuses. A pending question becomes one of the others, once.
const (
	Pending   Status = "pending"
	Selected  Status = "selected"  // {"outcome":"selected","optionId":"…"}
	Accepted  Status = "accepted"  // {"action":"accept","content":{…}}
	Declined  Status = "declined"  // {"action":"decline"}
	Cancelled Status = "cancelled" // {"outcome":"cancelled"}, {"action":"cancel"}, or the turn was stopped
	Answered  Status = "answered"  // any other object
	Expired   Status = "expired"   // the turn ended, was replaced, or lost its producer
)

// StatusOf is the status that an outcome gives its question.
func StatusOf(outcome json.RawMessage) Status { return Status(agui.StatusOf(outcome)) }
