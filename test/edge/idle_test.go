package edge_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/test/harness"
)

// impatient is nginx that gives up on a relay that is silent for 20 s.
func impatient(t *testing.T, relay string) *nginx {
	t.Helper()
	return startNginx(t, bare(relay, "proxy_read_timeout 20s;"))
}

// quiet watches a run that says nothing for n keep-alives, after so many events. What it
// returns waits for them, lets the run go on, and wants to see that.
func quiet(t *testing.T, f *harness.Fabric, r *harness.Relay, client *http.Client, url, chat string, before uint64, n int) func() {
	t.Helper()
	run := f.Start(r.Producer, chat)
	if before > 0 {
		f.Publish(run, 1, before)
	}
	w := watch(t, client, http.MethodPost, url+"/chat/live", harness.Live(chat))
	var o harness.Observer
	require.NoError(t, o.Until(t.Context(), w, before))
	done := make(chan error, 1)
	go func() { done <- o.Until(t.Context(), w, before+3) }()
	return func() {
		t.Helper()
		w.silence(t, n)
		f.Publish(run, before+1, before+3)
		require.NoError(t, <-done)
		require.NoError(t, o.Holds(before+3), "what fills silence moves no cursor")
	}
}

// The figures themselves, all at once: runs that say nothing for 30 s, before their first
// event and after it, through a proxy that gives up after 20 s, and from a server that
// writes for 30 s at most. The relay fills silence every 10 s unless told otherwise.
func TestPROXY02_SilenceIsNotCut(t *testing.T) {
	t.Parallel()
	f, r := fresh(t, harness.RelayConfig{})
	n := impatient(t, r.URL)
	server := embedded(t, r, 30*time.Second, false)
	for _, resumed := range []func(){
		quiet(t, f, r, browser(t), n.url, "before", 0, 4),
		quiet(t, f, r, browser(t), n.url, "after", 1, 4),
		quiet(t, f, r, server.Client(), server.URL, "server", 1, 5),
	} {
		resumed()
	}
}

// Nothing can be sent while a request waits for a run. A relay that is told how patient
// the proxy is answers before the proxy does, whatever the client asks for. Where nobody
// has told it, nginx answers 504, which a client takes for what it is: it comes back, and
// gets the run.
func TestPROXY02_WaitsForARun(t *testing.T) {
	t.Parallel()
	told := harness.RelayConfig{}
	told.Relay.MaxWait = 15 * time.Second
	f, untold := fresh(t, harness.RelayConfig{})
	n, cuts := impatient(t, f.Relay(told).URL), impatient(t, untold.URL)
	s := (&consumer.Client{BaseURL: cuts.url, HTTP: browser(t)}).Watch(t.Context(), consumer.Watch{ChatID: "idle", Wait: harness.Patience})
	defer s.Close()
	seen := make(chan error, 1)
	var o harness.Observer
	go func() { seen <- o.Until(t.Context(), s, 3) }()

	resp := ask(t, browser(t), http.MethodPost, n.url+"/chat/live", harness.Live("idle", "wait_ms", 120_000))
	require.Equal(t, http.StatusNoContent, resp.StatusCode)

	harness.Eventually(t, "nginx gives up", func() bool { return strings.Contains(cuts.log("access.log"), `" 504 `) })
	f.Publish(f.Start(untold.Producer, "idle"), 1, 3)
	require.NoError(t, <-seen)
	require.NoError(t, o.Holds(3))
}

// embedded serves a relay from a program's own server, whose limits for a whole answer
// are those of ordinary requests.
func embedded(t *testing.T, r *harness.Relay, limit time.Duration, h2 bool) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(r.Handler)
	server.Config.ReadTimeout, server.Config.WriteTimeout = limit, limit
	server.EnableHTTP2 = h2
	if h2 {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server
}

// The limits of such a server cut neither a stream nor a wait.
func TestPROXY02_ServerWithTimeLimits(t *testing.T) {
	t.Parallel()
	const limit = 500 * time.Millisecond
	cfg := harness.RelayConfig{}
	cfg.Relay.KeepAlive = limit / 2
	f, r := fresh(t, cfg)
	for name, h2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := embedded(t, r, limit, h2)
			idle := url.Values{"chat_id": {"idle"}, "wait_ms": {"1000"}}.Encode()
			require.Equal(t, http.StatusNoContent, ask(t, server.Client(), http.MethodPost, server.URL+"/chat/live", harness.Live("idle", "wait_ms", 1000)).StatusCode)
			require.Equal(t, http.StatusNoContent, ask(t, server.Client(), http.MethodGet, server.URL+"/chat/live?"+idle, "").StatusCode)

			run := f.Start(r.Producer, name)
			f.Publish(run, 1, 3)
			for i, stream := range []*watched{
				watch(t, server.Client(), http.MethodPost, server.URL+"/chat/live", harness.Live(name)),
				watch(t, server.Client(), http.MethodGet, server.URL+"/chat/live?"+url.Values{"chat_id": {name}}.Encode(), ""),
			} {
				upTo := uint64(6 + 3*i) // more than has been published: it is read on through the silence
				require.Equal(t, name, stream.resp.Proto)
				var o harness.Observer
				done := make(chan error, 1)
				go func() { done <- o.Until(t.Context(), stream, upTo) }()
				stream.silence(t, 7) // three limits long
				f.Publish(run, run.LastSeq()+1, upTo)
				require.NoError(t, <-done)
				require.NoError(t, o.Holds(upTo))
			}

			controls := ask(t, server.Client(), http.MethodGet, server.URL+"/runs/"+string(run.ID())+"/controls", "")
			w := &watched{resp: controls, fills: make(chan struct{}, 1<<10)}
			go func() { _, _ = consumer.NewDecoder(w).Next() }()
			w.silence(t, 6)
		})
	}
}
