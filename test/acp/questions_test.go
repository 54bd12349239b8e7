package acp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/producer/agent"
)

// question is what an agent has asked and waits for.
type question struct {
	turn   *turn
	q      agui.Question
	value  map[string]any
	answer chan json.RawMessage
}

// Ask asks as a worker does: the question and its end are events.
func (t *turn) Ask(ctx context.Context, asked agent.Question) (agent.Answer, error) {
	value, err := json.Marshal(asked.Value)
	if err != nil {
		t.t.Errorf("a question that is no JSON: %v", err)
	}
	t.mu.Lock()
	if t.sealed {
		t.mu.Unlock()
		asked.Asked()
		return agent.Answer{}, agent.ErrOver
	}
	t.asks++
	q := &question{turn: t, value: asked.Value, answer: make(chan json.RawMessage, 1), q: agui.Question{
		Name:      asked.Name,
		RequestID: fmt.Sprintf("%s:%d", t.request.RunID, t.asks),
		MessageID: fmt.Sprintf("question-%s-%d", t.request.RunID, t.asks),
		Value:     value, Options: asked.Options,
	}}
	for _, e := range agui.RequestEvents(q.q) {
		t.put(e)
	}
	t.mu.Unlock()
	asked.Asked()
	t.asked <- q
	select {
	case outcome := <-q.answer:
		status := agent.StatusOf(outcome)
		t.close(q, string(status), outcome, "")
		return agent.Answer{RequestID: q.q.RequestID, Status: status, Outcome: outcome}, nil
	case <-ctx.Done():
		t.close(q, string(agent.Cancelled), nil, "the turn was stopped")
		return agent.Answer{}, context.Cause(ctx)
	}
}

func (t *turn) close(q *question, status string, outcome json.RawMessage, reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range agui.ResolvedEvents(q.q, status, outcome, reason) {
		t.put(e)
	}
}

// question waits for the next question.
func (t *turn) question() *question {
	t.t.Helper()
	select {
	case q := <-t.asked:
		return q
	case <-t.done:
		require.Fail(t.t, "the turn ended without asking", "%v %v", t.err, t.lines)
	case <-time.After(patience):
		require.Fail(t.t, "nothing was asked")
	}
	return nil
}

func (q *question) choose(option string) {
	q.answer <- json.RawMessage(fmt.Sprintf(`{"outcome":"selected","optionId":%q}`, option))
}

func (q *question) reply(outcome string) { q.answer <- json.RawMessage(outcome) }
