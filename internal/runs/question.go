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

// An entry keeps at most maxQuestions of a run, which is as many as package agui knows
// interrupts of one, and no more of them than questionBytes as JSON: it is written at
// every checkpoint and has to fit into one message with all its marks.
const (
	maxQuestions  = 64
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
		room -= o.size()
	}
	// The first ones may not take the room of all others: what each keeps is cut down.
	if q.size() > room/2 {
		q.Value = nil
	}
	if q.size() > room/2 {
		q.Options = nil
	}
	if q.size() > room {
		return false
	}
	e.Questions = append(slices.Clone(e.Questions), q)
	return true
}

// size is the room that the question takes in an entry.
func (q *Question) size() int {
	b, err := encode(q)
	if err != nil { // a value that is no JSON
		return questionBytes + 1
	}
	return len(b)
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
// tell so. An answer that was given and not yet told counts. open says of a question
// that the entry names whether it really is open: the entry may lag behind the log.
func (s *Store) LastWords(ctx context.Context, id subjects.RunID, end subjects.End, open func(requestID string) bool) ([][]byte, error) {
	e, err := s.Entry(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.lastWords(ctx, e, end, open)
}

// wordsRoom is what is left in the record of last words for what somebody else says.
const wordsRoom = 1 << 10

// lastWords gives no more words than one record takes: an answer that is too large for that
// is left out, and in the end the question itself. The control has the answer.
func (s *Store) lastWords(ctx context.Context, e *Entry, end subjects.End, open func(string) bool) ([][]byte, error) {
	var words [][]byte
	room := int(s.nc.MaxPayload()) - subjects.HeaderRoom - wordsRoom
	for _, q := range e.Questions {
		if q.Interrupt || !open(q.RequestID) {
			continue
		}
		c, err := s.CloseQuestion(ctx, e.RunID, q.RequestID, string(end.Reason))
		if err != nil {
			return nil, err
		}
		status, outcome, reason := c.Decided(closedStatus(end))
		asked := agui.Question{Name: q.Name, RequestID: q.RequestID, MessageID: q.MessageID, Value: q.Value}
		said := agui.ResolvedEvents(asked, status, outcome, reason)
		if size(said) > room {
			said = agui.ResolvedEvents(asked, status, nil, reason)
		}
		if size(said) > room {
			asked.Value = nil
			said = agui.ResolvedEvents(asked, status, nil, reason)
		}
		if size(said) <= room {
			room -= size(said)
			words = append(words, said...)
		}
	}
	return words, nil
}

// size is what events take in a record, one a line.
func size(events [][]byte) (n int) {
	for _, e := range events {
		n += len(e) + 1
	}
	return n
}

// closedStatus is the status of a question whose run ended.
func closedStatus(end subjects.End) string {
	if end.Reason == subjects.ReasonStopped {
		return agui.StatusCancelled
	}
	return agui.StatusExpired
}
