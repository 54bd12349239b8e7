package turns_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/producer/demo"
	"github.com/rejoin/rejoin/producer/worker"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

func (r *rig) steer(relay int, chat, words string) reply {
	r.Helper()
	a := r.post(relay, "/chat/steer-send", "chat_id", chat, "input", text(words))
	require.Equal(r, http.StatusAccepted, a.Status, a.Body)
	return a
}

// Messages before the start are a part of what is asked; those for a running turn of an
// agent that takes them are answered by it.
func TestSteeringTheDemo(t *testing.T) {
	t.Parallel()
	r := newRig(t, harness.Config{})
	id := r.send("c", "approval, please")
	require.Equal(t, id, r.steer(1, "c", "and soon").RunID)
	r.Worker(demo.NewAgent(demo.AgentConfig{Rate: 5000}), worker.Config{})
	live := r.open(0, "c").until(harness.Asks)
	require.Equal(t, id, r.steer(1, "c", "one more thing").RunID)
	require.Equal(t, http.StatusOK, r.answer(0, "c", id, live.RequestID(), `{"outcome":"selected","optionId":"allow"}`).Status)
	live.toEnd()
	require.Equal(t, &subjects.End{Persisted: true, Reason: subjects.ReasonDone}, live.End)
	var all strings.Builder
	for _, e := range live.Events {
		var d struct{ Delta string }
		require.NoError(t, json.Unmarshal([]byte(e), &d))
		all.WriteString(d.Delta)
	}
	require.Contains(t, all.String(), "You said “approval, please and soon”.")
	require.Contains(t, all.String(), "Meanwhile you said “one more thing”, and I have heard it.")
	require.Contains(t, string(r.saved("c", id).Input), "and soon")
	require.Len(t, r.history("c"), 1)
}

// An agent that takes no messages is replaced.
func TestSteeringAnAgentThatTakesNone(t *testing.T) {
	t.Parallel()
	r := newRig(t, harness.Config{})
	causes := make(chan error, 1)
	r.Worker(agent.Func(func(ctx context.Context, t agent.Turn) error {
		if t.Request().Kind == "steer" {
			return publish(t, said("m", agui.UserText(t.Request().Input)))
		}
		_ = publish(t, begin)
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return context.Cause(ctx)
	}), worker.Config{})
	id := r.send("c", "hi")
	live := r.open(0, "c").until(func(s *harness.Seen) bool { return len(s.Events) == 2 })
	next := r.steer(1, "c", "no, this").RunID
	require.NotEqual(t, id, next)
	require.ErrorIs(t, <-causes, agent.ErrSuperseded)
	require.Equal(t, &subjects.End{Superseded: true, Reason: subjects.ReasonSuperseded, NextRunID: next}, live.toEnd().End)
	require.Contains(t, r.watch(1, "c", next).Events[1], "no, this")
}

// hearing is an agent that takes messages, and ends at any moment.
type hearing struct {
	mu    sync.Mutex
	heard map[string]int
}

func (*hearing) TakesSteering() bool { return true }

func (h *hearing) hear(input json.RawMessage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for line := range strings.FieldsSeq(agui.UserText(input)) {
		h.heard[line]++
	}
}

func (h *hearing) Run(ctx context.Context, t agent.Turn) error {
	h.hear(t.Request().Input)
	over := time.After(rand.N(8 * time.Millisecond))
	for {
		select {
		case input := <-t.Steering():
			h.hear(input)
		case <-over:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// A message that crosses the end of its turn is answered by the next one: of many that
// are sent at any moment each is heard, and once.
func TestAMessageThatCrossesTheEndIsNotLost(t *testing.T) {
	t.Parallel()
	const messages = 80
	r := newRig(t, harness.Config{})
	h := &hearing{heard: map[string]int{}}
	r.Worker(h, worker.Config{})
	want := map[string]int{}
	for i := range messages {
		word := fmt.Sprintf("m%d", i)
		want[word] = 1
		r.steer(i%2, "c", word)
		time.Sleep(rand.N(4 * time.Millisecond)) // at any moment of the turn
	}
	harness.Eventually(t, "all are heard", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.heard) == messages
	})
	require.Equal(t, want, h.heard)
}

// A turn that no worker takes has an end that can be seen, and the chat goes on.
func TestATurnThatNobodyTakesExpires(t *testing.T) {
	t.Parallel()
	r := newRig(t, harness.Config{Lease: time.Second}, runs.JanitorConfig{TurnTTL: 2 * time.Second, Interval: 100 * time.Millisecond})
	id := r.send("c", "hi")
	behind := r.send("c", "me too", "on_active", "queue")
	live := r.open(0, "c", "run_id", id).toEnd()
	require.Equal(t, []string{"RUN_ERROR"}, live.Types)
	require.Contains(t, live.Events[0], `"code":"unclaimed"`)
	require.Equal(t, &subjects.End{Reason: subjects.ReasonError}, live.End)
	require.Equal(t, live.State, r.snapshot(1, id))
	require.Equal(t, subjects.ReasonError, r.open(0, "c", "run_id", behind).toEnd().End.Reason, "each in its time")
	r.Worker(counting(3), worker.Config{})
	var next subjects.RunID
	harness.Eventually(t, "it goes on", func() bool { // a busy machine may let some more expire
		next = r.send("c", "again")
		return r.watch(1, "c", next).End.Reason == subjects.ReasonDone
	})
	turns := r.history("c")
	require.Len(t, turns, 1, "what has expired is not begun")
	require.Equal(t, next, turns[0].RunID)
}
