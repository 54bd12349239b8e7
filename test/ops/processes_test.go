package ops_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// agent is an AG-UI agent over HTTP. Asked to "fail" it refuses, and asked to "wait" it says
// something and waits until release is called or the turn is over; "wait for ever" waits for the latter alone.
func agent(t *testing.T) (url string, release func()) {
	t.Helper()
	released := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := readAll(r)
		if strings.Contains(body, "fail") {
			http.Error(w, body, http.StatusTeapot)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		say := func(event string) {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", event)
			_ = http.NewResponseController(w).Flush()
		}
		say(`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`)
		say(`{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`)
		say(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"yes"}`)
		if strings.Contains(body, "wait") {
			let := released
			if strings.Contains(body, "for ever") {
				let = nil
			}
			select {
			case <-let:
			case <-r.Context().Done():
				return
			}
		}
		say(`{"type":"TEXT_MESSAGE_END","messageId":"m"}`)
		say(`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`)
	}))
	t.Cleanup(s.Close)
	once := make(chan struct{}, 1)
	release = func() {
		select {
		case once <- struct{}{}:
			close(released)
		default:
		}
	}
	t.Cleanup(release)
	return s.URL, release
}

// beside starts `rejoin worker` or `rejoin janitor` and waits until it is ready. The URL is
// where it tells how it is.
func beside(t *testing.T, f *harness.Fabric, nats, role string, args ...string) (p *harness.Process, url string) {
	t.Helper()
	addr := harness.FreeAddr(t)
	all := append([]string{role, "--nats", nats, "--ops-addr", addr}, args...)
	p = harness.Spawn(f, exec.Command(harness.Binary(f), all...))
	url = "http://" + addr
	becomes(t, url, http.StatusOK)
	return p, url
}

// becomes waits until a process's readiness is answered so.
func becomes(t *testing.T, url string, want int) {
	t.Helper()
	ctx := bounded(t)
	harness.Eventually(t, fmt.Sprint("/readyz answers ", want), func() bool { return status(ctx, url+"/readyz") == want })
}

// A relay, a worker and a janitor each tell whether they live and are ready, and their numbers,
// at an address of their own. A worker is not ready while it drains, nor when it cannot read
// its work queue; nobody is without a broker.
func TestEveryProcessTellsHowItIs(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	b, f := broker(t)
	url, release := agent(t)
	relayOps := harness.FreeAddr(t)
	r := relay(f, "--ops-addr", relayOps)
	first, firstURL := beside(t, f, b.NATS, "worker", "--agent", "agui", "--url", url)
	janitor, janitorURL := beside(t, f, b.NATS, "janitor")
	all := []string{"http://" + relayOps, firstURL, janitorURL}
	require.Equal(t, http.StatusOK, status(ctx, r.URL+"/livez"))
	said := ""
	for _, url := range all {
		require.Equal(t, http.StatusOK, status(ctx, url+"/livez"))
		require.Equal(t, http.StatusOK, status(ctx, url+"/readyz"))
		m := numbers(t, url)
		named(t, m)
		said += m
		require.Equal(t, "1", value(m, "rejoin_broker_connected"))
		for _, name := range []string{"rejoin_build_info", "rejoin_broker_canary_seconds", "rejoin_broker_reconnects_total",
			"rejoin_janitor_last_sweep_timestamp_seconds", "go_goroutines", "process_open_fds"} {
			require.Contains(t, m, "\n"+name, url)
		}
	}
	alerts(t, said)
	require.Equal(t, http.StatusNotFound, status(ctx, r.URL+"/metrics"), "numbers are for operators alone")
	require.Equal(t, http.StatusOK, status(ctx, r.URL+"/readyz"), "health is for load balancers, too")

	// A turn that waits for its agent holds up a worker that drains.
	code, body, err := post(ctx, http.DefaultClient, r.URL+"/chat/send", []byte(`{"chat_id":"c","input":{"text":"wait"}}`), nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, code, string(body))
	harness.Eventually(t, "the turn has begun", func() bool { return value(numbers(t, firstURL), "rejoin_turns_running") == "1" })
	first.Terminate()
	becomes(t, firstURL, http.StatusServiceUnavailable)
	m := numbers(t, firstURL)
	require.Equal(t, "1", value(m, "rejoin_turns_claimed_total"))
	require.Equal(t, "1", value(m, "rejoin_turns_begun_total"))
	require.Equal(t, "1", value(m, "rejoin_turns_running"), "it goes on with its turn")
	release()
	require.Zero(t, first.Exit())

	second, secondURL := beside(t, f, b.NATS, "worker", "--agent", "agui", "--url", url)
	for _, say := range []string{"hi", "fail"} {
		code, body, err := post(ctx, http.DefaultClient, r.URL+"/chat/send", []byte(`{"chat_id":"`+say+`","input":{"text":"`+say+`"}}`), nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusAccepted, code, string(body))
	}
	harness.Eventually(t, "both turns have ended", func() bool {
		m := numbers(t, secondURL)
		return value(m, `rejoin_turns_ended_total{reason="done"}`) == "1" && value(m, `rejoin_turns_ended_total{reason="error"}`) == "1"
	})
	m = numbers(t, secondURL)
	require.Equal(t, "1", value(m, `rejoin_agent_failures_total{how="error"}`))
	require.Equal(t, "2", value(m, `rejoin_saves_total{result="stored"}`))
	require.Equal(t, "0", value(m, "rejoin_turns_running"))

	b.Freeze()
	for _, url := range []string{all[0], secondURL, janitorURL} {
		becomes(t, url, http.StatusServiceUnavailable)
		require.Equal(t, http.StatusOK, status(ctx, url+"/livez"))
	}
	b.Thaw()
	for _, url := range []string{all[0], secondURL, janitorURL} {
		becomes(t, url, http.StatusOK)
	}

	require.NoError(t, f.Connect().Store.JetStream().DeleteConsumer(ctx, subjects.TurnsStream, subjects.Workers))
	becomes(t, secondURL, http.StatusServiceUnavailable)
	require.Equal(t, http.StatusOK, status(ctx, janitorURL+"/readyz"))

	from := time.Now()
	for _, p := range []*harness.Process{second, janitor} {
		p.Terminate()
		require.Zero(t, p.Exit())
	}
	t.Logf("worker and janitor: exit 0 after %v", since(from))
}
