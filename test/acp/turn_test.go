package acp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// turn is one turn in memory: what an agent sees of it, and the events that a worker
// would have in its run.
type turn struct {
	t       *testing.T
	request *agent.Request
	asked   chan *question
	stop    context.CancelCauseFunc
	done    chan struct{} // closed when the agent has returned and the turn is sealed

	mu      sync.Mutex
	changed *sync.Cond
	open    agui.Open
	lines   []string
	asks    int
	sealed  bool
	err     error // what Run returned
}

// ask has an agent answer a script in a chat: one step a line.
func ask(t *testing.T, a agent.Agent, chat, script string) *turn {
	t.Helper()
	input, err := json.Marshal(map[string]string{"text": script})
	require.NoError(t, err)
	tr := &turn{
		t: t, asked: make(chan *question, 64), done: make(chan struct{}),
		request: &agent.Request{
			Realm: "acme", ChatID: chat, TurnID: "turn", RunID: subjects.NewRunID(1), Kind: "send",
			Input: input, SentAt: time.Now(),
		},
	}
	tr.changed = sync.NewCond(&tr.mu)
	ctx, stop := context.WithCancelCause(t.Context())
	tr.stop = stop
	go func() {
		defer close(tr.done)
		ran := make(chan error, 1)
		go func() { ran <- a.Run(ctx, tr) }()
		select {
		case err := <-ran:
			tr.seal(err, context.Cause(ctx))
			return
		case <-ctx.Done():
		}
		select {
		case err := <-ran:
			tr.seal(err, context.Cause(ctx))
		case <-time.After(time.Second): // then the turn ends without its agent
			tr.seal(nil, context.Cause(ctx))
			<-ran
		}
	}()
	t.Cleanup(func() { // a test that failed half-way leaves nobody behind
		stop(agent.ErrStopped)
		<-tr.done
	})
	return tr
}

// seal ends the turn as a worker does.
func (t *turn) seal(err, cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = err
	for _, e := range t.open.CloseAll() {
		t.put(e)
	}
	switch {
	case t.open.Terminal() != "":
	case errors.Is(cause, agent.ErrStopped):
		t.put(t.open.RunFinished(agui.OutcomeCancelled))
	case err != nil:
		t.put(agui.NewRunError(err.Error(), "agent"))
	default:
		t.put(t.open.RunFinished(agui.OutcomeSuccess))
	}
	t.sealed = true
	t.changed.Broadcast()
}

// end waits for the turn's end and gives all of its events.
func (t *turn) end() []string {
	t.t.Helper()
	select {
	case <-t.done:
	case <-time.After(patience):
		t.mu.Lock()
		defer t.mu.Unlock()
		require.Fail(t.t, "the turn has no end", strings.Join(t.lines, "\n"))
	}
	return t.lines
}

// waitFor waits for an event that has all of these words in it.
func (t *turn) waitFor(words ...string) {
	t.t.Helper()
	late := time.AfterFunc(patience, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.sealed = true
		t.changed.Broadcast()
	})
	defer late.Stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	for seen := 0; ; {
		for ; seen < len(t.lines); seen++ {
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(t.lines[seen], w) }) {
				return
			}
		}
		require.False(t.t, t.sealed, "no event with %q, but %s", words, strings.Join(t.lines, "\n"))
		t.changed.Wait()
	}
}

// soFar is what there is of the turn.
func (t *turn) soFar() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.lines)
}

// put adds an event. t.mu is held.
func (t *turn) put(event []byte) {
	var e agui.Event
	if err := agui.Scan(event, &e); err != nil {
		t.t.Errorf("not an event: %v: %.500q", err, event)
		return
	}
	if t.open.Terminal() != "" {
		return // a worker drops it
	}
	if !t.open.Started() && e.Type != agui.RunStarted && e.Type != agui.RunError {
		t.t.Errorf("before RUN_STARTED: %.500q", event)
	}
	t.open.Add(&e)
	t.lines = append(t.lines, string(event))
	t.changed.Broadcast()
}

func (t *turn) Request() *agent.Request { return t.request }

func (t *turn) Publish(ctx context.Context, event []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sealed {
		return agent.ErrOver
	}
	t.put(bytes.Clone(event))
	return nil
}

func (t *turn) Steering() <-chan json.RawMessage { return nil }

// state is what a client makes of the events.
func state(events []string) *harness.State { return harness.Reduce([]byte(strings.Join(events, "\n"))) }

// said is all text of the answer.
func said(events []string) string {
	var all strings.Builder
	for _, e := range events {
		var f struct{ Type, Delta string }
		if json.Unmarshal([]byte(e), &f) == nil && f.Type == string(agui.TextMessageContent) {
			all.WriteString(f.Delta)
		}
	}
	return all.String()
}

// last is the terminal event.
func last(events []string) string { return events[len(events)-1] }

// index is where the first event with all of these words is.
func index(t *testing.T, events []string, words ...string) int {
	t.Helper()
	for i, e := range events {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(e, w) }) {
			return i
		}
	}
	require.Fail(t, "no such event", "%q in %s", words, strings.Join(events, "\n"))
	return -1
}
