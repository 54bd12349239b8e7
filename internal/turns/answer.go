package turns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// AnswerRequest answers a question that a run has asked.
type AnswerRequest struct {
	Realm     subjects.Realm // whose chat it is
	ChatID    string
	RunID     subjects.RunID // any string is allowed
	RequestID string
	Outcome   json.RawMessage // a JSON object; see CheckOutcome

	// Resume makes the input of the next turn where the run has ended to ask: of what
	// that run was asked, and of the answers. nil means that the next turn is asked
	// what the run was, with the answers.
	Resume func(ctx context.Context, asked *Turn, resume []Resume) (json.RawMessage, error)
	Header map[string]string // as of a SendRequest, for that next turn
	Trace  subjects.Trace    // the same
}

// Resume is an answer to an interrupt, as AG-UI's RunAgentInput takes it.
type Resume struct {
	InterruptID string          `json:"interruptId"`
	Status      string          `json:"status"` // resolved or cancelled
	Payload     json.RawMessage `json:"payload,omitempty"`
}

// Answered says what became of an answer.
type Answered struct {
	// Next is the run that goes on with it, where the run that asked has ended to ask
	// and all that it asked is answered; "" otherwise.
	Next subjects.RunID
}

// Answer answers a question. The first answer wins; the same one again is fine.
//
// The error is *AnsweredError for any other answer, ErrNotFound for a question that is
// unknown or closed, ErrOptions for an answer that the question does not take, or what
// kept the broker from answering.
func (q *Queue) Answer(ctx context.Context, r AnswerRequest) (Answered, error) {
	e, err := q.entry(ctx, r.Realm, r.ChatID, r.RunID)
	if err != nil {
		return Answered{}, err
	}
	if r.RequestID == "" || len(r.RequestID) > subjects.MaxOutside {
		return Answered{}, ErrNotFound
	}
	question, open := e.Question(r.RequestID)
	c, err := q.store.Control(ctx, e.RunID, runs.ControlAnswer, r.RequestID)
	if errors.Is(err, ErrNotFound) {
		if c, err = q.putAnswer(ctx, e, &r, question, open); errors.Is(err, ErrNotFound) {
			// Nobody may wait on it any more because it was answered just now.
			c, err = q.store.Control(ctx, e.RunID, runs.ControlAnswer, r.RequestID)
		}
	}
	switch {
	case err != nil:
		return Answered{}, err
	case c.Closed:
		return Answered{}, ErrNotFound
	case !sameJSON(c.Body, r.Outcome):
		return Answered{}, &AnsweredError{Outcome: c.Body}
	}
	if open && question.Interrupt {
		next, err := q.resume(ctx, e, &r)
		return Answered{Next: next}, err
	}
	return Answered{}, nil
}

// putAnswer stores an answer to a question that had none. The one that it returns is the
// first.
func (q *Queue) putAnswer(ctx context.Context, e *runs.Entry, r *AnswerRequest, question runs.Question, open bool) (runs.Control, error) {
	if err := q.answerable(ctx, e, question, open); err != nil {
		return runs.Control{}, err
	}
	if err := CheckOutcome(question, r.Outcome); err != nil {
		return runs.Control{}, err
	}
	if limit := q.store.MaxControlBody(); len(r.Outcome) > limit {
		return runs.Control{}, fmt.Errorf("%w: outcome has %d bytes; this broker's messages take %d", ErrOptions, len(r.Outcome), limit)
	}
	c, _, err := q.store.PutControl(ctx, e.RunID, runs.Control{Kind: runs.ControlAnswer, ID: r.RequestID, Body: r.Outcome})
	return c, err
}

// answerable is ErrNotFound for a question that nobody waits on any more.
func (q *Queue) answerable(ctx context.Context, e *runs.Entry, question runs.Question, open bool) error {
	switch {
	case !open:
		return ErrNotFound
	case !question.Interrupt && e.End != nil:
		return ErrNotFound
	case question.Interrupt:
		// Once the chat has gone on, an answer would start something that fits nowhere.
		p, err := q.store.Pointer(ctx, e.Realm, e.ChatID)
		if err == nil && p.RunID != e.RunID {
			err = ErrNotFound
		}
		return err
	}
	return nil
}

// resume starts the turn that goes on from a run that has ended to ask, once all of
// its questions are answered. It may be repeated.
func (q *Queue) resume(ctx context.Context, e *runs.Entry, r *AnswerRequest) (subjects.RunID, error) {
	var answers []Resume
	for _, question := range e.Questions {
		if !question.Interrupt {
			continue
		}
		c, err := q.store.Control(ctx, e.RunID, runs.ControlAnswer, question.RequestID)
		if errors.Is(err, ErrNotFound) {
			return "", nil // another answer will
		}
		if err != nil {
			return "", err
		}
		answers = append(answers, resumeOf(question.RequestID, &c))
	}
	const token = "resume "
	p, err := q.store.Pointer(ctx, e.Realm, e.ChatID)
	if err != nil {
		return "", err
	}
	if next, ok := p.Started(token + string(e.RunID)); ok {
		_, err := q.repeated(ctx, &SendRequest{Realm: e.Realm, ChatID: e.ChatID}, next)
		return next, err
	}
	if p.RunID != e.RunID { // the chat has gone on, with this turn long ago or without it
		return "", ErrNotFound
	}
	asked, err := q.Turn(ctx, e.RunID)
	if errors.Is(err, ErrNotFound) { // a producer of its own made the run
		asked, err = &Turn{RunID: e.RunID, ChatID: e.ChatID, Input: json.RawMessage(`{}`)}, nil
	}
	if err != nil {
		return "", err
	}
	makeInput := r.Resume
	if makeInput == nil {
		makeInput = resumeInput
	}
	input, err := makeInput(ctx, asked, answers)
	if err != nil {
		return "", err
	}
	sent, err := q.Send(ctx, SendRequest{Realm: e.Realm, ChatID: e.ChatID, Owner: e.Owner, Kind: KindApproval,
		Input: input, Header: r.Header, Trace: r.Trace, ClientToken: token + string(e.RunID), OnActive: runs.Behind})
	return sent.RunID, err
}

func resumeOf(id string, c *runs.Control) Resume {
	status, _, _ := c.Decided("cancelled")
	if status != "cancelled" {
		return Resume{InterruptID: id, Status: "resolved", Payload: c.Body}
	}
	return Resume{InterruptID: id, Status: "cancelled"}
}

// resumeInput is what a run was asked, with the answers to what it has asked back.
func resumeInput(_ context.Context, asked *Turn, resume []Resume) (json.RawMessage, error) {
	input := map[string]json.RawMessage{}
	if err := json.Unmarshal(asked.Input, &input); err != nil {
		return nil, err
	}
	answers, err := json.Marshal(resume)
	if err != nil {
		return nil, err
	}
	delete(input, "runId") // that of another run
	input["resume"] = answers
	return json.Marshal(input)
}
