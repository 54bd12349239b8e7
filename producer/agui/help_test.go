package agui_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/producer/agui"
)

// patience bounds what must happen; nothing takes that long unless it is broken.
const patience = 30 * time.Second

// turn is a worker's side of a turn.
type turn struct {
	req    agent.Request
	refuse error

	mu        sync.Mutex
	events    []string
	published chan struct{} // has room for one more than a test lets pass
}

func newTurn(input string) *turn {
	return &turn{
		req:       agent.Request{ChatID: "chat", RunID: "0run", Input: json.RawMessage(input)},
		published: make(chan struct{}, 10_000),
	}
}

func (t *turn) Request() *agent.Request          { return &t.req }
func (t *turn) Steering() <-chan json.RawMessage { return nil }
func (t *turn) Ask(context.Context, agent.Question) (agent.Answer, error) {
	return agent.Answer{}, agent.ErrOver
}

func (t *turn) Publish(_ context.Context, event []byte) error {
	if t.refuse != nil {
		return t.refuse
	}
	t.mu.Lock()
	t.events = append(t.events, string(event))
	t.mu.Unlock()
	t.published <- struct{}{}
	return nil
}

// server serves an agent of which every connection is gone when the test ends.
func server(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// streaming serves a body as an event stream and ends it well.
func streaming(t *testing.T, body string) string {
	t.Helper()
	return server(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(body))
	})
}

// raw serves an answer as it is written and then closes the connection.
func raw(t *testing.T, answer string) string {
	t.Helper()
	return server(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer func() { _ = conn.Close() }()
		_, _ = conn.Write([]byte(answer))
	})
}

func newAgent(t *testing.T, cfg agui.Config) *agui.Agent {
	t.Helper()
	a, err := agui.New(cfg)
	require.NoError(t, err)
	t.Cleanup(a.Close)
	return a
}

// run runs a turn against an agent to its end.
func run(t *testing.T, cfg agui.Config, turn *turn) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return newAgent(t, cfg).Run(ctx, turn)
}

func await[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		require.Fail(t, "nothing came")
	}
	return v
}

func isAny(err error, targets ...error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}
