package agui_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/producer/agui"
)

// A redirect that would hand the conversation to another host, or lose it, is refused.
func TestRedirects(t *testing.T) {
	t.Parallel()
	elsewhere, got := asking(t)
	redirecting := func(status int, to string) string {
		return server(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/there" {
				body, _ := io.ReadAll(r.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, data(started, `{"type":"RAW","event":`+string(body)+`}`, finished))
				return
			}
			w.Header().Set("Location", to)
			w.WriteHeader(status)
		})
	}
	for _, status := range []int{301, 302, 303, 307, 308} {
		require.ErrorIs(t, run(t, agui.Config{URL: redirecting(status, elsewhere)}, newTurn(`{"text":"hi"}`)), agui.ErrRedirect)
	}
	require.Empty(t, got.body)
	require.ErrorIs(t, run(t, agui.Config{URL: redirecting(302, "/there")}, newTurn(`{"text":"hi"}`)), agui.ErrRedirect)
	require.ErrorIs(t, run(t, agui.Config{URL: redirecting(307, "/")}, newTurn(`{"text":"hi"}`)), agui.ErrRedirect, "in circles")
	turn := newTurn(`{"text":"hi"}`)
	require.NoError(t, run(t, agui.Config{URL: redirecting(307, "/there")}, turn))
	require.Contains(t, turn.events[1], `"content":"hi"`)
}

// A connection that was refused is tried again; a request that may have arrived is not.
func TestOnlyARefusedConnectionIsTriedAgain(t *testing.T) {
	t.Parallel()
	const address = "127.0.0.1:1" // where nobody listens; a port that was free may be somebody's by now
	tried := make(chan struct{}, 100)
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		tried <- struct{}{}
		return http.DefaultTransport.RoundTrip(r)
	})}
	err := run(t, agui.Config{URL: "http://" + address, Client: client}, newTurn(`{"text":"hi"}`))
	require.ErrorIs(t, err, agui.ErrUnreachable)
	require.NotContains(t, err.Error(), address, "people see this")
	require.Greater(t, len(tried), 1)
	require.Less(t, len(tried), 10)

	back, got := asking(t)
	refusals := 2
	restarting := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if refusals--; refusals >= 0 {
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		}
		return http.DefaultTransport.RoundTrip(r)
	})}
	require.NoError(t, run(t, agui.Config{URL: back, Client: restarting}, newTurn(`{"text":"hi"}`)))
	require.Contains(t, got.body, `"content":"hi"`)

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(agent.ErrStopped)
	require.ErrorIs(t, newAgent(t, agui.Config{URL: "http://" + address}).Run(ctx, newTurn(`{"text":"hi"}`)), agent.ErrStopped)

	var asked atomic.Int32
	gone := server(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		conn, _, _ := http.NewResponseController(w).Hijack()
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	})
	require.ErrorIs(t, run(t, agui.Config{URL: gone}, newTurn(`{"text":"hi"}`)), agui.ErrUnreachable)
	require.EqualValues(t, 1, asked.Load())
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// holding serves a beginning and then nothing, until the request is gone.
func holding(t *testing.T, head string) (url string, gone chan struct{}) {
	gone = make(chan struct{}, 10)
	return server(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if head != "" {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, head)
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
		gone <- struct{}{}
	}), gone
}

func TestStopAbortsTheRequest(t *testing.T) {
	t.Parallel()
	for _, head := range []string{"", data(started, delta)} {
		url, gone := holding(t, head)
		a := newAgent(t, agui.Config{URL: url})
		ctx, cancel := context.WithCancelCause(t.Context())
		turn := newTurn(`{"text":"hi"}`)
		ended := make(chan error, 1)
		go func() { ended <- a.Run(ctx, turn) }()
		if head != "" {
			<-turn.published
			<-turn.published
		}
		cancel(agent.ErrStopped)
		require.ErrorIs(t, await(t, ended), agent.ErrStopped)
		if head != "" {
			await(t, gone) // without a request there is nothing to abort
		}
	}
}

func TestAnAgentThatSaysNothingIsGivenUp(t *testing.T) {
	t.Parallel()
	for _, head := range []string{"", data(started, delta)} {
		url, _ := holding(t, head)
		require.ErrorIs(t, run(t, agui.Config{URL: url, IdleTimeout: 200 * time.Millisecond}, newTurn(`{"text":"hi"}`)), agui.ErrIdle)
	}
	// One that is finished and does not hang up is not waited for.
	url, gone := holding(t, data(started, finished))
	ended := make(chan error, 1)
	a := newAgent(t, agui.Config{URL: url, Linger: 50 * time.Millisecond})
	go func() { ended <- a.Run(t.Context(), newTurn(`{"text":"hi"}`)) }()
	require.NoError(t, await(t, ended))
	await(t, gone)
}

func TestAPublishThatFailsEndsTheTurn(t *testing.T) {
	t.Parallel()
	url, gone := holding(t, data(started))
	turn := newTurn(`{"text":"hi"}`)
	turn.refuse = agent.ErrOver
	require.ErrorIs(t, run(t, agui.Config{URL: url}, turn), agent.ErrOver)
	await(t, gone)
}
