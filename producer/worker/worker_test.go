package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/producer/worker"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

func TestATurnIsAnsweredSavedAndEnded(t *testing.T) {
	t.Parallel()
	f := newFabric(t, harness.Config{})
	s := &saves{}
	id := f.send("c", "hi")
	f.work(says("hello"), worker.Config{Saver: s})
	w := f.watch(id, nil)
	require.Equal(t, []string{"RUN_STARTED", "TEXT_MESSAGE_CHUNK", "RUN_FINISHED"}, w.Types)
	require.Equal(t, &subjects.End{Persisted: true, Reason: subjects.ReasonDone}, w.End)
	saved := s.of(id)
	require.Equal(t, "c", saved.ChatID)
	require.JSONEq(t, `{"text":"hi"}`, string(saved.Input))
	require.Contains(t, string(saved.Events), "hello")
}

func TestAnAgentsFailureIsARunError(t *testing.T) {
	t.Parallel()
	f := newFabric(t, harness.Config{})
	for name, a := range map[string]agent.Func{
		"error": func(ctx context.Context, t agent.Turn) error {
			_ = t.Publish(ctx, chunk("half an ans"))
			return errors.New("the model is\naway")
		},
		"panic": func(ctx context.Context, t agent.Turn) error {
			_ = t.Publish(ctx, chunk("half an ans"))
			panic("secret")
		},
	} {
		t.Run(name, func(t *testing.T) {
			id := f.send(name, "hi")
			w := f.work(a, worker.Config{Saver: &saves{}})
			seen := f.watch(id, nil)
			w.end()
			require.Equal(t, []string{"RUN_STARTED", "TEXT_MESSAGE_CHUNK", "RUN_ERROR"}, seen.Types)
			require.NotContains(t, seen.Events[2], "secret")
			require.Equal(t, &subjects.End{Persisted: true, Reason: subjects.ReasonError}, seen.End, "what there is of an answer is saved too")
		})
	}
}

// An agent's own terminal event stands, and nothing follows it.
func TestTheFirstTerminalEventSeals(t *testing.T) {
	t.Parallel()
	f := newFabric(t, harness.Config{})
	id := f.send("c", "hi")
	f.work(agent.Func(func(ctx context.Context, t agent.Turn) error {
		for _, e := range []string{
			`{"type":"RUN_STARTED","threadId":"c","runId":"theirs"}`,
			`{"type":"RUN_ERROR","message":"no"}`,
			`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"late"}`,
			`{"type":"RUN_FINISHED","threadId":"c","runId":"theirs"}`,
		} {
			if err := t.Publish(ctx, []byte(e)); err != nil {
				return err
			}
		}
		return nil
	}), worker.Config{})
	w := f.watch(id, nil)
	require.Equal(t, []string{"RUN_STARTED", "RUN_ERROR"}, w.Types)
	require.Equal(t, &subjects.End{Reason: subjects.ReasonError}, w.End)
}

func TestWhatIsLeftOpenIsClosed(t *testing.T) {
	t.Parallel()
	f := newFabric(t, harness.Config{})
	id := f.send("c", "hi")
	f.work(agent.Func(func(ctx context.Context, t agent.Turn) error {
		_ = t.Publish(ctx, []byte(`{"type":"STEP_STARTED","stepName":"s"}`))
		return t.Publish(ctx, []byte(`{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`))
	}), worker.Config{})
	w := f.watch(id, nil)
	require.Equal(t, []string{"RUN_STARTED", "STEP_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_END", "STEP_FINISHED", "RUN_FINISHED"}, w.Types)
}

func TestARefusedEventIsToldAndNothingElseIsLost(t *testing.T) {
	t.Parallel()
	f := newFabric(t, harness.Config{})
	id := f.send("c", "hi")
	refused := make(chan error, 1)
	f.work(agent.Func(func(ctx context.Context, t agent.Turn) error {
		refused <- t.Publish(ctx, []byte(`{"type":`))
		return t.Publish(ctx, chunk("fine"))
	}), worker.Config{})
	w := f.watch(id, nil)
	require.ErrorContains(t, <-refused, "expected a value")
	require.Equal(t, subjects.ReasonDone, w.End.Reason)
}

// asking is an agent that asks once and says what it was told.
func asking(got chan<- agent.Answer) agent.Agent {
	return agent.Func(func(ctx context.Context, t agent.Turn) error {
		if err := t.Publish(ctx, chunk("May I? ")); err != nil {
			return err
		}
		a, err := t.Ask(ctx, agent.Question{Name: "test.permission", Value: map[string]any{"title": "Delete it?"}, Options: []string{"yes", "no"}})
		if err != nil {
			return err
		}
		got <- a
		return t.Publish(ctx, chunk(string(a.Outcome)))
	})
}

func TestAnAnswerReachesItsAgent(t *testing.T) {
	t.Parallel()
	f := newFabric(t, harness.Config{})
	got := make(chan agent.Answer, 1)
	id := f.send("c", "hi")
	f.work(asking(got), worker.Config{})
	request := f.watch(id, harness.Asks).RequestID()
	e, err := f.store.Entry(within(t), id)
	require.NoError(t, err)
	require.EqualValues(t, "waiting", e.Doing())
	yes := json.RawMessage(`{"outcome":"selected","optionId":"yes"}`)
	answer := func(o string) error {
		_, err := f.queue.Answer(within(t), turns.AnswerRequest{ChatID: "c", RunID: id, RequestID: request, Outcome: json.RawMessage(o)})
		return err
	}
	require.ErrorIs(t, answer(`{"outcome":"selected","optionId":"maybe"}`), turns.ErrOptions)
	require.NoError(t, answer(string(yes)))
	require.NoError(t, answer(`{ "optionId":"yes", "outcome":"selected" }`), "the same answer")
	require.ErrorIs(t, answer(`{"outcome":"selected","optionId":"no"}`), turns.ErrAnswered)
	a := <-got
	require.Equal(t, agent.Selected, a.Status)
	require.JSONEq(t, string(yes), string(a.Outcome))
	w := f.watch(id, nil)
	require.Empty(t, w.State.Pending())
	require.Equal(t, "selected", w.State.Status["prompt "+request])
	require.Equal(t, "selected", w.State.Status["activity question-"+request])
	require.ErrorIs(t, answer(`{"outcome":"selected","optionId":"no"}`), turns.ErrAnswered, "also when the run is over")
}

func TestStoppingClosesTheQuestionAndTheRun(t *testing.T) {
	t.Parallel()
	f := newFabric(t, harness.Config{})
	s := &saves{}
	id := f.send("c", "hi")
	f.work(asking(make(chan agent.Answer, 1)), worker.Config{Saver: s})
	request := f.watch(id, harness.Asks).RequestID()
	for range 3 {
		_, err := f.queue.Stop(within(t), turns.StopRequest{ChatID: "c", RunID: id})
		if err != nil {
			var stale *turns.StaleError
			require.ErrorAs(t, err, &stale)
		}
	}
	w := f.watch(id, nil)
	require.Equal(t, "cancelled", w.State.Status["prompt "+request])
	require.Equal(t, &subjects.End{Persisted: true, Reason: subjects.ReasonStopped}, w.End)
	require.Equal(t, "RUN_FINISHED", w.Types[len(w.Types)-1])
	require.Contains(t, w.Events[len(w.Events)-1], `"cancelled"`)
	require.Equal(t, subjects.ReasonStopped, s.of(id).Reason)
	_, err := f.queue.Answer(within(t), turns.AnswerRequest{ChatID: "c", RunID: id, RequestID: request,
		Outcome: json.RawMessage(`{"outcome":"selected","optionId":"yes"}`)})
	require.ErrorIs(t, err, turns.ErrNotFound)
}

// An agent that does not care is left behind, and its late events with it.
func TestAnAgentThatIgnoresAStopIsLeftBehind(t *testing.T) {
	t.Parallel()
	f := newFabric(t, harness.Config{})
	id := f.send("c", "hi")
	begun, goOn, late := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	f.work(agent.Func(func(_ context.Context, t agent.Turn) error {
		_ = t.Publish(context.Background(), chunk("before"))
		close(begun)
		<-goOn
		late <- t.Publish(context.Background(), chunk("after"))
		return nil
	}), worker.Config{StopPatience: time.Millisecond})
	<-begun
	_, err := f.queue.Stop(within(t), turns.StopRequest{ChatID: "c", RunID: id})
	require.NoError(t, err)
	w := f.watch(id, nil)
	close(goOn)
	require.ErrorIs(t, <-late, agent.ErrOver)
	require.Equal(t, subjects.ReasonStopped, w.End.Reason)
	require.Equal(t, []string{"RUN_STARTED", "TEXT_MESSAGE_CHUNK", "RUN_FINISHED"}, w.Types)
}

// Agents that return once they are told to have the time for it in any hurry.
func TestAHurriedWorkerWaitsForAgentsThatReturn(t *testing.T) {
	t.Parallel()
	f := newFabric(t, harness.Config{})
	f.send("c", "hi")
	begun := make(chan struct{})
	r := f.work(agent.Func(func(ctx context.Context, _ agent.Turn) error {
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	}), worker.Config{Grace: time.Hour})
	<-begun
	r.Hurry()
	r.end()
}

func TestANewerRunCancelsTheAgentOfTheOlder(t *testing.T) {
	t.Parallel()
	f := newFabric(t, harness.Config{})
	why := make(chan error, 2)
	failed := make(chan worker.Failure, 2)
	r := f.work(agent.Func(func(ctx context.Context, t agent.Turn) error {
		if t.Request().Kind == turns.KindRetry {
			return t.Publish(ctx, chunk("again"))
		}
		if err := t.Publish(ctx, chunk("first")); err != nil {
			return err
		}
		_, err := t.Ask(ctx, agent.Question{Name: "q"})
		why <- err
		return err
	}), worker.Config{Metrics: worker.Metrics{Failed: func(how worker.Failure) { failed <- how }}})
	id := f.send("c", "hi")
	request := f.watch(id, harness.Asks).RequestID()
	next := f.send("c", "hi", func(r *turns.SendRequest) { r.Kind = turns.KindRetry })
	err := <-why
	require.ErrorIs(t, err, agent.ErrOver)
	require.ErrorIs(t, err, agent.ErrSuperseded)
	w := f.watch(id, nil)
	require.Equal(t, &subjects.End{Superseded: true, Reason: subjects.ReasonSuperseded, NextRunID: next}, w.End)
	require.Equal(t, "expired", w.State.Status["prompt "+request])
	require.Equal(t, subjects.ReasonDone, f.watch(next, nil).End.Reason)
	r.end()
	require.Empty(t, failed, "to be superseded is no failure")
}

func TestASaveThatFailsIsSaid(t *testing.T) {
	t.Parallel()
	f := newFabric(t, harness.Config{})
	s := &saves{do: func(context.Context) error { return errors.New("no") }}
	id := f.send("c", "hi")
	f.work(says("hello"), worker.Config{Saver: s})
	require.Equal(t, &subjects.End{Reason: subjects.ReasonSaveFailed}, f.watch(id, nil).End)
}

func TestQueuedTurnsOfAChatKeepTheirOrder(t *testing.T) {
	t.Parallel()
	f := newFabric(t, harness.Config{})
	var ids []subjects.RunID
	for range 5 {
		ids = append(ids, f.send("c", "hi", func(r *turns.SendRequest) { r.OnActive = "queue" }))
	}
	order := make(chan subjects.RunID, 5)
	for range 2 {
		f.work(agent.Func(func(ctx context.Context, t agent.Turn) error {
			order <- t.Request().RunID
			return t.Publish(ctx, chunk("x"))
		}), worker.Config{})
	}
	for _, id := range ids {
		require.Equal(t, subjects.ReasonDone, f.watch(id, nil).End.Reason)
		require.Equal(t, id, <-order)
	}
}
