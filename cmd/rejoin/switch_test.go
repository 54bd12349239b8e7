package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/app"
)

// From the command line to a relay that runs, and back.
func TestSwitch(t *testing.T) {
	t.Parallel()
	a := dev(t, app.Config{NATSAddr: "127.0.0.1:0"})
	set := func(more ...string) result {
		return called(t.Context(), nil, append([]string{"switch", "--nats", a.Broker().ClientURL()}, more...)...)
	}
	require.Equal(t, result{0, "nothing is switched off\n", ""}, set())
	live := func() int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.URL()+"/chat/live?chat_id=c", http.NoBody)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	answers := func(status int) {
		t.Helper()
		require.Eventually(t, func() bool { return live() == status }, patience, 5*time.Millisecond)
	}
	require.Equal(t, http.StatusNoContent, live())
	got := set("--reason", "much too much\x1b[2J", "off")
	require.Zero(t, got.code, got.err)
	require.Regexp(t, `^all: off, since \S+Z, by rejoin switch: much too much\\x1b\[2J\n$`, got.out)
	answers(http.StatusServiceUnavailable)
	got = set("on")
	require.Regexp(t, `^all: on, since \S+Z, by rejoin switch\n$`, got.out)
	answers(http.StatusNoContent)
	got = set("--tenant", "a\nb", "25%")
	require.Equal(t, 2, strings.Count(got.out, "\n"), got.out)
	require.Contains(t, got.out, `tenant "a\nb": 25% off, since `)
	require.Zero(t, set("--tenant", "", "off").code)
	answers(http.StatusServiceUnavailable)
	require.Contains(t, set().out, `tenant "": off`)
}

func TestSwitchSaysWhatIsAllowed(t *testing.T) {
	t.Parallel()
	for _, words := range [][]string{{"maybe"}, {"101%"}, {"25"}, {"%"}, {"1.5%"}, {"off", "on"}, {"off", "--reason", "x"}} {
		got := called(t.Context(), nil, append([]string{"switch", "--nats", "nats://127.0.0.1:1"}, words...)...)
		require.Equal(t, exitUsage, got.code, words)
		require.Contains(t, got.err, "one of off, on, and a percentage such as 25%", words)
	}
	got := called(t.Context(), nil, "switch", "off", "--nats", "nats://a:secret@127.0.0.1:1")
	require.Equal(t, exitUsage, got.code)
	require.Contains(t, got.err, "behind all flags")
	require.NotContains(t, got.err, "secret")
	got = called(t.Context(), nil, "switch", "off")
	require.Equal(t, exitUsage, got.code)
	require.Contains(t, got.err, "--nats")
	got = called(t.Context(), nil, "switch", "--nats", "nats://127.0.0.1:1", "--reason", strings.Repeat("x", 257), "off")
	require.Equal(t, exitUsage, got.code)
	require.Contains(t, got.err, "--reason")
	got = called(t.Context(), nil, "switch", "--nats", "nats://127.0.0.1:1", "--nats-wait", "1ms", "off")
	require.Equal(t, exitFailed, got.code)
}
