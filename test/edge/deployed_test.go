package edge_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/test/harness"
)

// deployed is nginx with the configuration that is shipped, before relays.
func deployed(t *testing.T, relays ...string) *nginx {
	t.Helper()
	b, err := os.ReadFile("../../deploy/nginx/rejoin.conf")
	require.NoError(t, err)
	conf := string(b)
	servers := ""
	for _, url := range relays {
		servers += "server " + strings.TrimPrefix(url, "http://") + "; "
	}
	for old, own := range map[string]string{
		"server 127.0.0.1:8080;":    servers,
		"listen 80;":                "listen LISTEN;",
		"/var/log/nginx/rejoin.log": "DIR/access.log",
	} {
		require.Equal(t, 1, strings.Count(conf, old), "%q", old)
		conf = strings.Replace(conf, old, own, 1)
	}
	return startNginx(t, conf)
}

func TestPROXY01_ShippedNginxConfiguration(t *testing.T) {
	t.Parallel()
	f, r := fresh(t, harness.RelayConfig{})
	n := deployed(t, r.URL)
	run := f.Start(r.Producer, "c")
	c, err := harness.Ask(t.Context(), http.MethodGet, n.url+"/chat/live?chat_id=c&resume_token=secret", "")
	require.NoError(t, err)
	t.Cleanup(c.Close)
	require.Equal(t, http.StatusOK, c.Status)
	oneByOne(t, f, run, c)

	metrics, err := harness.Ask(t.Context(), http.MethodGet, n.url+"/metrics", "")
	require.NoError(t, err)
	metrics.Close()
	require.Equal(t, http.StatusNotFound, metrics.Status, "numbers are for the inside")

	harness.Eventually(t, "the stream is logged", func() bool { return strings.Contains(n.log("access.log"), "GET /chat/live\" 200") })
	require.NotContains(t, n.log("access.log")+n.log("error.log"), "secret", "what a query holds is in no log")
}

// A producer's body passes line by line while it is open.
func TestShippedNginxConfigurationPassesOpenBodies(t *testing.T) {
	t.Parallel()
	_, r := fresh(t, harness.RelayConfig{})
	n := deployed(t, r.URL)
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	started, err := harness.Ask(ctx, http.MethodPost, n.url+"/runs", `{"chat_id":"c"}`)
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, started.Status)
	location := started.Header.Get("Location")
	started.Close()

	body, lines := io.Pipe()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.url+location+"/events", body)
	require.NoError(t, err)
	transport := &http.Transport{DisableKeepAlives: true}
	stored := make(chan string, 1)
	go func() {
		defer close(stored)
		resp, err := transport.RoundTrip(req)
		if err != nil {
			stored <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		stored <- string(b)
	}()
	c := live(t, n.url, "c")
	var o harness.Observer
	for i := range uint64(20) {
		fmt.Fprintf(lines, "%s\n", harness.Delta(i+1))
		require.NoError(t, o.Until(ctx, c, i+1))
	}
	lines.Close()
	require.JSONEq(t, `{"accepted":20,"last_seq":20}`, <-stored)
}

// A relay that shuts down answers 503 to whoever asks it; nginx asks the next one, and
// the observers of its streams come back through nginx to where they were.
func TestShippedNginxConfigurationPassesOverARelayThatLeaves(t *testing.T) {
	t.Parallel()
	f, leaving := fresh(t, harness.RelayConfig{})
	staying := f.Relay(harness.RelayConfig{})
	n := deployed(t, leaving.URL, staying.URL)
	run := f.Start(staying.Producer, "c")
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	streams := make([]*consumer.Stream, 8)
	seen := make([]harness.Observer, len(streams))
	client := &consumer.Client{BaseURL: n.url, HTTP: browser(t)}
	for i := range streams {
		streams[i] = client.Watch(ctx, consumer.Watch{ChatID: "c"})
		t.Cleanup(func() { streams[i].Close() })
	}
	f.Publish(run, 1, 10)
	for i, s := range streams {
		require.NoError(t, seen[i].Until(ctx, s, 10))
	}
	leaving.Stop()
	f.Publish(run, 11, 20)
	for i, s := range streams {
		require.NoError(t, seen[i].Until(ctx, s, 20))
		require.NoError(t, seen[i].Holds(20))
	}
}
