package runs

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/subjects"
)

// Question is something that a run asks people and that is not closed yet.
type Question struct {
	Name      string          `json:"name"`
	RequestID string          `json:"request_id"`
	MessageID string          `json:"message_id,omitempty"`
	Value     json.RawMessage `json:"value,omitempty"`
	Options   []string        `json:"options,omitempty"`
	// Interrupt says that the run has ended for the sake of this question, and that its
	// answer starts the next one.
	Interrupt bool `json:"interrupt,omitempty"`
}

// An entry keeps at most maxQuestions of a run, and no more of them than
// questionBytes: it is written at every checkpoint and has to fit into one message
// with all its marks.
const (
	maxQuestions  = 32
	questionBytes = 16 << 10
)

// InterruptName is the name of the questions that AG-UI calls interrupts.
const InterruptName = "interrupt"

// Ask notes that a question is open. One too many is not noted, and false: nobody can
// answer it.
func (e *Entry) Ask(q Question) bool {
	i := slices.IndexFunc(e.Questions, func(o Question) bool { return o.RequestID == q.RequestID })
	if i >= 0 {
		e.Questions = slices.Delete(slices.Clone(e.Questions), i, i+1)
	}
	if len(e.Questions) >= maxQuestions {
		return false
	}
	room := questionBytes
	for _, o := range e.Questions {
		room -= len(o.Value)
	}
	if len(q.Value) > room/2 {
		q.Value = nil
	}
	e.Questions = append(slices.Clone(e.Questions), q)
	return true
}

// Resolve notes that a question is closed; false where it was not open.
func (e *Entry) Resolve(requestID string) bool {
	i := slices.IndexFunc(e.Questions, func(o Question) bool { return o.RequestID == requestID })
	if i >= 0 {
		e.Questions = slices.Delete(slices.Clone(e.Questions), i, i+1)
	}
	return i >= 0
}

// Question is the open question of that id.
func (e *Entry) Question(requestID string) (Question, bool) {
	for _, q := range e.Questions {
		if q.RequestID == requestID {
			return q, true
		}
	}
	return Question{}, false
}

// CloseQuestion closes a question that will have no answer, unless it has one: whoever
// comes first wins. It returns the control that decided.
func (s *Store) CloseQuestion(ctx context.Context, id subjects.RunID, requestID, reason string) (Control, error) {
	winner, _, err := s.PutControl(ctx, id, Control{Kind: ControlAnswer, ID: requestID, Closed: true, Reason: reason})
	return winner, err
}

// Decided is what a deciding control says of its question: its status, the answer
// where there is one, and why there is none. otherwise is the status of a question that
// was closed.
func (c *Control) Decided(otherwise string) (status string, outcome json.RawMessage, reason string) {
	if c.Closed {
		return otherwise, nil, c.Reason
	}
	return agui.StatusOf(c.Body), c.Body, ""
}

// LastWords closes what a run that ends has asked, for good, and gives the events that
// tell so. An answer that was given and not yet told counts.
func (s *Store) LastWords(ctx context.Context, id subjects.RunID, end subjects.End) ([][]byte, error) {
	e, err := s.Entry(ctx, id)
	if err != nil {
		return nil, err
	}
	var words [][]byte
	for _, q := range e.Questions {
		if q.Interrupt {
			continue
		}
		c, err := s.CloseQuestion(ctx, id, q.RequestID, string(end.Reason))
		if err != nil {
			return nil, err
		}
		status, outcome, reason := c.Decided(closedStatus(end))
		words = append(words, agui.ResolvedEvents(agui.Question{Name: q.Name, RequestID: q.RequestID,
			MessageID: q.MessageID, Value: q.Value}, status, outcome, reason)...)
	}
	return words, nil
}

// closedStatus is the status of a question whose run ended.
func closedStatus(end subjects.End) string {
	if end.Reason == subjects.ReasonStopped {
		return agui.StatusCancelled
	}
	return agui.StatusExpired
}
