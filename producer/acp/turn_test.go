package acp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/acp"
	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/subjects"
)

const patience = 60 * time.Second

// newAgent makes an Agent of a scripted agent. Close has to leave nothing.
func newAgent(t testing.TB, script string, change ...func(*acp.Config)) *acp.Agent {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cfg := acp.Config{Command: []string{self}, Env: append(os.Environ(), roleEnv+"="+script), Dir: t.TempDir(), Logger: slogger(&testLog{t: t})}
	for _, c := range change {
		c(&cfg)
	}
	a, err := acp.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, a.Close(ctx))
	})
	return a
}

// testLog shows the log of a test that fails, and lets it wait for a line.
type testLog struct {
	t     testing.TB
	wants string // "" for nothing
	seen  chan struct{}
}

func (l *testLog) Write(b []byte) (int, error) {
	l.t.Logf("%s", strings.TrimSpace(string(b)))
	if l.wants != "" && strings.Contains(string(b), l.wants) {
		l.seen <- struct{}{}
	}
	return len(b), nil
}

// wait waits until the line was logged.
func (l *testLog) wait() {
	l.t.Helper()
	select {
	case <-l.seen:
	case <-time.After(patience):
		require.FailNow(l.t, "it was not logged", l.wants)
	}
}

func slogger(l *testLog) *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// turn is a turn without a fabric.
type turn struct {
	testing.TB
	req  agent.Request
	ctx  context.Context
	stop context.CancelCauseFunc

	mu        sync.Mutex
	events    []string
	change    chan struct{} // closed at the next event
	questions []agent.Question
	answer    func(q agent.Question) json.RawMessage // nil waits for ever
	refuse    func(event string) error               // may be nil
}

func newTurn(t testing.TB, chat, text string) *turn {
	ctx, stop := context.WithCancelCause(context.Background())
	t.Cleanup(func() { stop(nil) })
	input, err := json.Marshal(object{"text": text})
	require.NoError(t, err)
	return &turn{
		TB: t, ctx: ctx, stop: stop, change: make(chan struct{}),
		req: agent.Request{ChatID: chat, RunID: subjects.RunID("run-" + text), Kind: "send", Input: input},
	}
}

func (t *turn) Request() *agent.Request { return &t.req }

func (t *turn) Publish(ctx context.Context, event []byte) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if t.refuse != nil {
		if err := t.refuse(string(event)); err != nil {
			return err
		}
	}
	t.add(string(event))
	return nil
}

func (t *turn) add(event string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, event)
	close(t.change)
	t.change = make(chan struct{})
}

func (t *turn) Ask(ctx context.Context, q agent.Question) (agent.Answer, error) {
	t.mu.Lock()
	t.questions = append(t.questions, q)
	id := fmt.Sprintf("%s:%d", t.req.RunID, len(t.questions))
	t.mu.Unlock()
	t.add(fmt.Sprintf(`{"type":"CUSTOM","name":"%s.request"}`, q.Name))
	q.Asked()
	if t.answer == nil {
		<-ctx.Done()
		t.add(fmt.Sprintf(`{"type":"CUSTOM","name":"%s.resolved","value":"cancelled"}`, q.Name))
		return agent.Answer{}, context.Cause(ctx)
	}
	outcome := t.answer(q)
	t.add(fmt.Sprintf(`{"type":"CUSTOM","name":"%s.resolved"}`, q.Name))
	return agent.Answer{RequestID: id, Status: agent.StatusOf(outcome), Outcome: outcome}, nil
}

func (t *turn) Steering() <-chan json.RawMessage { return nil }

// run runs the turn to its end.
func (t *turn) run(a *acp.Agent) error {
	t.Helper()
	return t.wait(t.begin(a))
}

func (t *turn) begin(a *acp.Agent) <-chan error {
	over := make(chan error, 1)
	go func() { over <- a.Run(t.ctx, t) }()
	return over
}

func (t *turn) wait(over <-chan error) error {
	t.Helper()
	select {
	case err := <-over:
		return err
	case <-time.After(patience):
		require.FailNow(t, "the turn does not end", "%s", strings.Join(t.all(), "\n"))
		return nil
	}
}

// until waits until so many events contain a text.
func (t *turn) until(n int, text string) {
	t.Helper()
	late := time.After(patience)
	for {
		t.mu.Lock()
		have, change := 0, t.change
		for _, e := range t.events {
			if strings.Contains(e, text) {
				have++
			}
		}
		t.mu.Unlock()
		if have >= n {
			return
		}
		select {
		case <-change:
		case <-late:
			require.FailNow(t, "no such event", "%s in\n%s", text, strings.Join(t.all(), "\n"))
		}
	}
}

func (t *turn) all() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string{}, t.events...)
}

// text is all text of the answer.
func (t *turn) text() string {
	var all strings.Builder
	for _, e := range t.all() {
		var m struct{ Type, Delta string }
		require.NoError(t, json.Unmarshal([]byte(e), &m))
		if m.Type == "TEXT_MESSAGE_CONTENT" {
			all.WriteString(m.Delta)
		}
	}
	return all.String()
}

// last is the last event, which has to be a terminal one, and the only one.
func (t *turn) last() (e struct {
	Type, Message, Code string
	Result              struct{ StopReason string }
	Outcome             struct{ Type string }
}) {
	t.Helper()
	all := t.all()
	require.NotEmpty(t, all)
	for i, event := range all {
		terminal := strings.Contains(event, `"type":"RUN_FINISHED"`) || strings.Contains(event, `"type":"RUN_ERROR"`)
		require.Equal(t, i == len(all)-1, terminal, "event %d of %d: %s", i, len(all), event)
	}
	require.NoError(t, json.Unmarshal([]byte(all[len(all)-1]), &e))
	return e
}

// finished runs a turn that has to end well and gives its text.
func (t *turn) finished(a *acp.Agent) string {
	t.Helper()
	require.NoError(t, t.run(a))
	require.Equal(t, "RUN_FINISHED", t.last().Type)
	return t.text()
}

var errRefused = errors.New("refused")

// whole makes an outcome.
func whole(format string, args ...any) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(format, args...))
}

func selected(id string) json.RawMessage { return whole(`{"outcome":"selected","optionId":%q}`, id) }
