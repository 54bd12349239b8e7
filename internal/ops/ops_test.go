package ops_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/ops"
)

// served starts a server on a free port; it is closed with the test.
func served(t *testing.T, reg *prometheus.Registry) (*ops.Server, func(method, path string) (int, http.Header, string)) {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := ops.Start(ln, reg, nil)
	t.Cleanup(s.Close)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return s, func(method, path string) (int, http.Header, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.Addr()+path, nil)
		require.NoError(t, err)
		resp, err := client.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, resp.Header, string(body)
	}
}

// A process is alive from the start, ready once it says so, and not ready when it says why.
func TestAliveAndReady(t *testing.T) {
	t.Parallel()
	s, ask := served(t, prometheus.NewRegistry())
	status, _, body := ask(http.MethodGet, "/livez")
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"status":"alive"}`, body)
	status, header, body := ask(http.MethodGet, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, "starting")
	require.Equal(t, "1", header.Get("Retry-After"))
	require.Equal(t, "application/problem+json", header.Get("Content-Type"))

	s.Ready(func() error { return nil })
	status, header, body = ask(http.MethodGet, "/readyz")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "no-store", header.Get("Cache-Control"))
	require.JSONEq(t, `{"status":"ready"}`, body)
	status, _, body = ask(http.MethodHead, "/readyz")
	require.Equal(t, http.StatusOK, status)
	require.Empty(t, body)

	s.Ready(func() error { return errors.New("a <reason>\nof two lines") })
	status, _, body = ask(http.MethodGet, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.NotContains(t, body, "\nof")
	status, _, _ = ask(http.MethodGet, "/livez")
	require.Equal(t, http.StatusOK, status, "it lives")
}

func TestNumbersAndNothingElse(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	reg.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "a_total", Help: "of As"}))
	_, ask := served(t, reg)
	status, _, body := ask(http.MethodGet, "/metrics")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "# HELP a_total of As")
	require.Contains(t, body, "\na_total 0\n")
	for path, want := range map[string]int{"/": 404, "/metrics/x": 404, "/debug/pprof/": 404} {
		status, _, _ = ask(http.MethodGet, path)
		require.Equal(t, want, status, path)
	}
	status, _, _ = ask(http.MethodPost, "/readyz")
	require.Equal(t, http.StatusMethodNotAllowed, status)
}

// A header without an end is not read for ever, nor a large one at all.
func TestRequestsAreBounded(t *testing.T) {
	t.Parallel()
	s, _ := served(t, prometheus.NewRegistry())
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.Addr())
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: x\r\nLarge: "+strings.Repeat("x", 64<<10)+"\r\n\r\n")
	require.NoError(t, err)
	answer, _ := io.ReadAll(conn)
	require.True(t, strings.HasPrefix(string(answer), "HTTP/1.1 431"), "%.60q", answer)

	slow, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.Addr())
	require.NoError(t, err)
	defer slow.Close()
	_, err = io.WriteString(slow, "GET /livez HTTP/1.1\r\nHo")
	require.NoError(t, err)
	require.NoError(t, slow.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err = io.ReadAll(slow)
	require.NoError(t, err, "the server hangs up")
}

// A process that serves nothing has a nil Server.
func TestNoServer(t *testing.T) {
	t.Parallel()
	var s *ops.Server
	s.Ready(func() error { return nil })
	require.Empty(t, s.Addr())
	s.Close()
}

// However many ask, the broker is asked once a second, and not waited for longer than the
// timeout.
func TestCanary(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked, told atomic.Int64
		away := errors.New("away")
		var answer atomic.Pointer[error]
		c := ops.NewCanary(ops.CanaryConfig{
			Ping: func(ctx context.Context) error {
				asked.Add(1)
				if err := answer.Load(); err != nil {
					return *err
				}
				return nil
			},
			Asked: func(took time.Duration, err error) { told.Add(1) },
		})
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() { require.NoError(t, c.Check()) })
		}
		all.Wait()
		require.EqualValues(t, 1, asked.Load())
		answer.Store(&away)
		require.NoError(t, c.Check(), "the answer counts for a moment")
		time.Sleep(time.Second)
		require.ErrorIs(t, c.Check(), away)
		require.EqualValues(t, 2, asked.Load())

		hangs := ops.NewCanary(ops.CanaryConfig{Ping: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}})
		from := time.Now()
		require.ErrorIs(t, hangs.Check(), context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(from))

		ctx, cancel := context.WithCancel(t.Context())
		all.Go(func() { c.Run(ctx) })
		before := asked.Load()
		time.Sleep(time.Minute)
		require.InDelta(t, 12, asked.Load()-before, 1)
		cancel()
		all.Wait()
		require.Equal(t, asked.Load(), told.Load())
	})
}
