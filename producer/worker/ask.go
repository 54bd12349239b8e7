package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/producer/agent"
)

// question is one that is open.
type question struct {
	agui.Question
	answer chan producer.Control // one place; the answer that won
	closes bool                  // this worker closes it; guarded by job.mu
	over   chan error            // one place; why there is none
}

const maxQuestionName = 64

// tell lets whoever waits for the answer know that there is none, and why.
func (q *question) tell(why error) {
	if !errors.Is(why, agent.ErrOver) {
		why = fmt.Errorf("%w: %w", agent.ErrOver, why)
	}
	select {
	case q.over <- why:
	default: // it was told before
	}
}

// Ask implements agent.Turn.
func (j *job) Ask(ctx context.Context, q agent.Question) (agent.Answer, error) {
	open, err := j.ask(ctx, q)
	if q.Asked != nil {
		q.Asked()
	}
	if err != nil {
		return agent.Answer{}, err
	}
	if f := j.w.cfg.Metrics.Asked; f != nil {
		f()
	}
	if f := j.w.cfg.Metrics.Asking; f != nil {
		f(1)
		defer f(-1)
	}
	select {
	case c := <-open.answer:
		return j.answered(open, c)
	case err := <-open.over:
		return agent.Answer{}, err
	case <-ctx.Done():
		return j.withdraw(ctx, open)
	}
}

// ask puts a question that may be put.
func (j *job) ask(ctx context.Context, q agent.Question) (*question, error) {
	if q.Name == "" || len(q.Name) > maxQuestionName || !utf8.ValidString(q.Name) {
		return nil, fmt.Errorf("a question's name has %d bytes; allowed are 1 to %d bytes of valid UTF-8", len(q.Name), maxQuestionName)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return j.put(q)
}

// put publishes a question and makes it known, in the order that lets no answer be lost.
func (j *job) put(q agent.Question) (*question, error) {
	value := maps.Clone(q.Value)
	if value == nil {
		value = map[string]any{}
	}
	if _, has := value["options"]; !has && len(q.Options) > 0 {
		value["options"] = q.Options
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("a question's value is no JSON: %w", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.sealed || j.open.Terminal() != "" {
		return nil, agent.ErrOver
	}
	j.asked++
	id := fmt.Sprintf("%s:%d", j.run.ID(), j.asked)
	open := &question{answer: make(chan producer.Control, 1), over: make(chan error, 1),
		Question: agui.Question{Name: q.Name, RequestID: id, MessageID: "question-" + id, Value: raw, Options: q.Options}}
	j.questions[id] = open
	for _, event := range agui.RequestEvents(open.Question) {
		if err := j.publish(event); err != nil {
			delete(j.questions, id)
			return nil, err
		}
	}
	return open, nil
}

// answered tells the answer in the run, stores that, and only then gives it to the agent.
func (j *job) answered(open *question, c producer.Control) (agent.Answer, error) {
	status, outcome, _ := c.Decided("")
	if err := j.resolve(open, status, outcome, ""); err != nil {
		return agent.Answer{}, err
	}
	if _, err := j.run.Flush(j.w.hard); err != nil {
		return agent.Answer{}, turnError(err)
	}
	return agent.Answer{RequestID: open.RequestID, Status: agent.Status(status), Outcome: outcome}, nil
}

// resolve publishes that a question is closed, unless it has been told.
func (j *job) resolve(open *question, status string, outcome json.RawMessage, reason string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.questions[open.RequestID] != open {
		return agent.ErrOver
	}
	delete(j.questions, open.RequestID)
	if j.sealed {
		return agent.ErrOver
	}
	return j.sendOwn(agui.ResolvedEvents(open.Question, status, outcome, reason)...)
}

// withdraw closes a question whose agent does not wait any more. An answer that was
// faster is told, and the agent gets it.
func (j *job) withdraw(ctx context.Context, open *question) (agent.Answer, error) {
	cause := context.Cause(ctx)
	c, err := j.close(open, reasonOf(cause))
	if err != nil {
		return agent.Answer{}, fmt.Errorf("%w: %w", cause, err)
	}
	if !c.Closed {
		return j.answered(open, c)
	}
	if err := j.resolve(open, agui.StatusCancelled, nil, c.Reason); err != nil {
		// The run may be over, or somebody else who ends the turn was faster.
		return agent.Answer{}, fmt.Errorf("%w: %w", err, cause)
	}
	return agent.Answer{}, cause
}

// close makes sure that a question gets no answer any more, unless it has one.
func (j *job) close(open *question, reason string) (producer.Control, error) {
	j.mu.Lock()
	open.closes = true
	j.mu.Unlock()
	ctx, cancel := context.WithTimeout(j.w.hard, closeTimeout)
	defer cancel()
	return j.run.CloseQuestion(ctx, open.RequestID, reason)
}

// cancelQuestions lets everyone who waits for an answer know that the turn is to stop:
// agents that do not look at their context wait for nothing either.
func (j *job) cancelQuestions(cause error) {
	for _, open := range j.openQuestions() {
		c, err := j.close(open, reasonOf(cause))
		if err != nil {
			j.log.Warn("a question is not closed yet", "request", open.RequestID, "error", err)
			continue
		}
		if !c.Closed {
			j.give(open, c)
			continue
		}
		// What cannot be told in the run, because that is over, is told the agent all the same.
		_ = j.resolve(open, agui.StatusCancelled, nil, c.Reason)
		open.tell(cause)
	}
}

// refused tells that a question was closed, and not by its agent: by the run itself, for
// nobody could answer it, or by somebody who ends the run, which is then the agent's to
// hear first. That end may never come, and so is not waited for without end.
func (j *job) refused(ctx context.Context, open *question, reason string) {
	why := agent.ErrTooMany
	if reason != producer.ClosedByRun {
		why = agent.ErrSuperseded
		ended, cancel := context.WithTimeout(ctx, closeTimeout)
		defer cancel()
		select {
		case <-j.run.Done():
		case <-ended.Done():
		}
	}
	if err := j.resolve(open, agui.StatusExpired, nil, reason); err != nil {
		j.log.Debug("that a question is closed is not told in the run", "request", open.RequestID, "error", err)
	}
	open.tell(why)
}

// dropQuestions tells those who wait that there is nothing to wait for.
func (j *job) dropQuestions(why error) {
	for _, open := range j.openQuestions() {
		open.tell(why)
	}
}

func (j *job) openQuestions() []*question {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Collect(maps.Values(j.questions))
}

// give hands the answer to whoever waits.
func (j *job) give(open *question, c producer.Control) {
	select {
	case open.answer <- c:
	default: // it was given before
	}
}
