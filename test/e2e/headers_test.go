package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/test/harness"
)

// CUR-06: whatever /chat/live answers, no cache may keep it: streams, 204, refusals,
// and a relay that is full, draining or without its broker.
func TestCUR06_NoAnswerMayBeKept(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{Broker: harness.Networked(t)})
	r := f.Relay(harness.RelayConfig{})
	run := f.Start(f.Producer(f.Connect()), "c")
	publish(t, run, turn("c")...)
	finish(t, run, false)

	seen := map[int]int{}
	check := func(method, url, body string, header ...string) {
		t.Helper()
		c := once(t, method, url, body, header...)
		defer c.Close()
		seen[c.Status]++
		cache := strings.Split(c.Header.Get("Cache-Control"), ", ")
		require.Contains(t, cache, "no-store", "%s %s: %d", method, body, c.Status)
		switch {
		case c.Status == http.StatusOK:
			require.Contains(t, cache, "no-transform")
			require.Equal(t, "text/event-stream", c.Header.Get("Content-Type"))
			require.Equal(t, "no", c.Header.Get("X-Accel-Buffering"))
			require.Equal(t, string(run.ID()), c.Header.Get("Rejoin-Run-Id"))
			require.Empty(t, c.Header.Get("Content-Encoding"))
		case c.Status >= 400:
			require.Equal(t, "application/problem+json", c.Header.Get("Content-Type"))
		}
		require.Equal(t, c.Status == http.StatusServiceUnavailable, c.Header.Get("Retry-After") != "", "Retry-After with %d", c.Status)
	}
	live := r.URL + "/chat/live"
	for _, body := range []string{harness.Live("c"), `{"chat_id":"c"}`, `{"threadId":"c"}`, harness.Live("c", "run_id", run.ID(), "after_seq", 3),
		harness.Live("nothing"), `{"chat_id":"nothing"}`, harness.Live("nothing", "wait_ms", 1), harness.Live(""), "no JSON",
		harness.Live("c", "after_seq", -1), `{"chat_id":"c","protocol":2}`, harness.Live("c") + strings.Repeat(" ", 1<<20)} {
		check(http.MethodPost, live, body, "Accept-Encoding", "gzip")
	}
	check(http.MethodGet, live+"?chat_id=c", "")
	check(http.MethodGet, live+"?chat_id=nothing", "")
	check(http.MethodGet, live+"?chat_id=c", "", "Last-Event-ID", "none")
	check(http.MethodPut, live, "")

	// Full: one reader waits, and there is room for one.
	full := f.Relay(harness.RelayConfig{Relay: relay.Config{MaxObservers: 1}})
	open := f.Start(f.Producer(f.Connect()), "open")
	taken := watch(t, full.URL, harness.Live("open"))
	check(http.MethodPost, full.URL+"/chat/live", harness.Live("c"))
	taken.Close()

	// Without its broker.
	cut := f.Relay(harness.RelayConfig{})
	cut.Proxy.Refuse(true)
	cut.Proxy.Cut()
	check(http.MethodPost, cut.URL+"/chat/live", harness.Live("c"))
	cut.Proxy.Refuse(false)
	finish(t, open, true)

	for _, status := range []int{200, 204, 400, 405, 413, 503} {
		require.Positive(t, seen[status], "no answer was %d", status)
	}
}

// CUR-06: a relay that is draining refuses, and that is not to be kept either.
func TestCUR06_ADrainingRelay(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	r := f.Relay(harness.RelayConfig{})
	f.Start(r.Producer, "c")
	waiting := make(chan *harness.Conn, 1)
	go func() {
		c, err := harness.Ask(t.Context(), http.MethodPost, r.URL+"/chat/live", harness.Live("idle", "wait_ms", 30_000))
		if err != nil {
			t.Error(err)
		}
		waiting <- c
	}()
	harness.Eventually(t, "the reader waits", func() bool { return r.Number("rejoin_waiters") == 1 })
	r.Stop()
	c := <-waiting
	require.Equal(t, http.StatusServiceUnavailable, c.Status)
	require.Equal(t, "no-store", c.Header.Get("Cache-Control"))
	require.NotEmpty(t, c.Header.Get("Retry-After"))
	require.Contains(t, whole(t, c), `"code":"unavailable"`)
}
