package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/producer/worker"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// Nobody would ever see it.
func TestAQuestionAfterTheLastEventIsRefused(t *testing.T) {
	t.Parallel()
	f := newFabric(t, harness.Config{})
	id := f.send("c", "hi")
	refused := make(chan error, 2)
	f.work(agent.Func(func(ctx context.Context, t agent.Turn) error {
		over, cancel := context.WithCancelCause(ctx)
		cancel(context.DeadlineExceeded)
		_, err := t.Ask(over, agent.Question{Name: "q"})
		refused <- err
		if err := t.Publish(ctx, []byte(`{"type":"RUN_ERROR","message":"no"}`)); err != nil {
			return err
		}
		_, err = t.Ask(ctx, agent.Question{Name: "q"})
		refused <- err
		return nil
	}), worker.Config{})
	require.Equal(t, []string{"RUN_ERROR"}, f.watch(id, nil).Types)
	require.ErrorIs(t, <-refused, context.DeadlineExceeded)
	require.ErrorIs(t, <-refused, agent.ErrOver)
}

// Messages that come before the turn begins are a part of it; those that its agent does
// not take are the next turn, and none is lost.
func TestMessagesForATurnAreAnswered(t *testing.T) {
	t.Parallel()
	f := newFabric(t, harness.Config{})
	steer := func(text string) subjects.RunID {
		sent, err := f.queue.Steer(within(t), turns.SendRequest{ChatID: "c", Input: json.RawMessage(`{"text":"` + text + `"}`)})
		require.NoError(t, err)
		return sent.RunID
	}
	id := f.send("c", "one")
	require.Equal(t, id, steer("two"))
	inputs, goOn := make(chan string, 2), make(chan struct{})
	f.work(steerable{agent.Func(func(ctx context.Context, t agent.Turn) error {
		inputs <- string(t.Request().Input)
		if err := t.Publish(ctx, chunk("x")); err != nil {
			return err
		}
		<-goOn
		return nil
	})}, worker.Config{})
	require.JSONEq(t, `{"text":"one\n\ntwo"}`, <-inputs)
	require.Equal(t, id, steer("three"))
	require.Equal(t, id, steer("four"))
	close(goOn)
	require.Equal(t, subjects.ReasonDone, f.watch(id, nil).End.Reason)
	require.JSONEq(t, `{"text":"three\n\nfour"}`, <-inputs)
}

type steerable struct{ agent.Agent }

func (steerable) TakesSteering() bool { return true }

// One question too many is refused, and those that are open are answered all the same.
func TestTooManyQuestionsAreRefused(t *testing.T) {
	t.Parallel()
	f := newFabric(t, harness.Config{})
	id := f.send("c", "hi")
	const open = 64
	refused, answered := make(chan error, 1), make(chan error, open)
	f.work(agent.Func(func(ctx context.Context, t agent.Turn) error {
		var asked sync.WaitGroup
		for range open {
			placed := make(chan struct{})
			asked.Go(func() {
				_, err := t.Ask(ctx, agent.Question{Name: "q", Asked: func() { close(placed) }})
				answered <- err
			})
			<-placed
		}
		_, err := t.Ask(ctx, agent.Question{Name: "q", Value: map[string]any{"title": "one too many"}})
		refused <- err
		asked.Wait()
		return nil
	}), worker.Config{})
	require.ErrorIs(t, <-refused, agent.ErrTooMany)
	for i := range open {
		_, err := f.queue.Answer(within(t), turns.AnswerRequest{ChatID: "c", RunID: id,
			RequestID: fmt.Sprintf("%s:%d", id, i+1), Outcome: json.RawMessage(`{}`)})
		require.NoError(t, err)
		require.NoError(t, <-answered)
	}
	w := f.watch(id, nil)
	require.Equal(t, subjects.ReasonDone, w.End.Reason)
	require.Equal(t, "expired", w.State.Status[fmt.Sprintf("prompt %s:%d", id, open+1)])
	require.Empty(t, w.State.Pending())
}

// A message that meets a run whose agent takes none, however early, is a turn of its own.
func TestNoMessageIsAcceptedForAnAgentThatTakesNone(t *testing.T) {
	t.Parallel()
	f := newFabric(t, harness.Config{})
	id := f.send("c", "hi")
	begun, goOn := make(chan struct{}), make(chan struct{})
	f.work(agent.Func(func(ctx context.Context, t agent.Turn) error {
		close(begun)
		<-goOn
		return nil
	}), worker.Config{})
	<-begun
	c, won, err := f.store.PutControl(within(t), id, runs.Control{Kind: runs.ControlInput, ID: "1", Body: json.RawMessage(`{"text":"x"}`)})
	require.NoError(t, err)
	require.False(t, won)
	require.True(t, c.Closed)
	close(goOn)
	require.Equal(t, subjects.ReasonDone, f.watch(id, nil).End.Reason)
}
