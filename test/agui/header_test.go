package agui_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/test/harness"
)

// logged is a log that several write at once.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// The headers that the operator names reach the agent, together with the operator's own; no other does. What is in them,
// and what people say, is in no log. All of it as `rejoin dev` is shipped.
func TestHeadersReachTheAgentAndNoLog(t *testing.T) {
	t.Parallel()
	r := load(t, "copilotkit-error") // which logs something
	u := newUpstream(t, func(a *asked) {
		if a.n == 0 {
			a.say(r.sse)
			return
		}
		http.Error(a.w, "no", http.StatusTeapot)
	})
	log := &logged{}
	a, err := app.New(app.Config{Addr: "127.0.0.1:0", ForwardHeaders: []string{"authorization", "X-Tenant", "Cookie"},
		Worker: &app.WorkerConfig{Agent: app.AgentConfig{Kind: app.AgentAGUI, URL: u.url + "/?key=urlsecret",
			Header: http.Header{"X-Key": {"operatorsecret"}, "X-Tenant": {"operator's"}}}},
		Logger: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-done)
	})
	select {
	case <-a.Ready():
	case <-time.After(harness.Patience):
		require.Fail(t, "it does not serve")
	}
	input, err := os.ReadFile(r.input)
	require.NoError(t, err)
	for range 2 {
		answer, err := harness.Ask(ctx, http.MethodPost, a.URL()+"/chat", string(input), "Authorization", "Bearer usersecret", "X-Tenant", "client's",
			"Cookie", "session=cookiesecret", "X-Other", "othersecret", "X-Forwarded-For", "10.9.8.7", "User-Agent", "stock/1", "Referer", "http://page", "Origin", "http://page")
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.Status)
		body, err := answer.Rest()
		require.NoError(t, err)
		require.Contains(t, body, "RUN_ERROR")
	}
	requests := u.requests()
	require.Len(t, requests, 2)
	for _, asked := range requests {
		h := asked.header
		require.Equal(t, "Bearer usersecret", h.Get("Authorization"))
		require.Equal(t, "session=cookiesecret", h.Get("Cookie"))
		require.Equal(t, []string{"operator's"}, h.Values("X-Tenant"), "the operator's word is the last")
		require.Equal(t, "operatorsecret", h.Get("X-Key"))
		for _, name := range []string{"X-Other", "X-Forwarded-For", "Referer", "Origin"} {
			require.Empty(t, h.Values(name), name)
		}
		require.NotContains(t, h.Get("User-Agent"), "stock")
		require.Equal(t, "text/event-stream", h.Get("Accept"))
	}
	written := log.String()
	require.Contains(t, written, `"turn sent"`)
	require.NotContains(t, written, "secret")
	require.NotContains(t, written, "Please help me")
}
