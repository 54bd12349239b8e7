package edge_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// source gives frames.
type source interface {
	Next(context.Context) (consumer.Frame, error)
}

// oneByOne publishes twenty events, each once the one before has arrived: what holds
// one back for company holds all of them for ever.
func oneByOne(t *testing.T, f *harness.Fabric, run *producer.Run, from source) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	var o harness.Observer
	for i := range uint64(20) {
		f.Publish(run, i+1, i+1)
		require.NoError(t, o.Until(ctx, from, i+1))
	}
	_, err := run.Finish(ctx, producer.FinishOptions{Persisted: true, Reason: subjects.ReasonDone})
	require.NoError(t, err)
	require.NoError(t, o.ToEnd(ctx, from))
	require.NoError(t, o.Holds(20))
}

// fresh is a fabric with a relay.
func fresh(t *testing.T, cfg harness.RelayConfig) (*harness.Fabric, *harness.Relay) {
	t.Helper()
	f := harness.New(t, harness.Config{})
	return f, f.Relay(cfg)
}

func TestPROXY01_NginxDefaults(t *testing.T) {
	t.Parallel()
	f, r := fresh(t, harness.RelayConfig{})
	n := startNginx(t, bare(r.URL, ""))
	run := f.Start(r.Producer, "c")
	oneByOne(t, f, run, live(t, n.url, "c"))
}

// Where nginx compresses streams, it does so event by event.
func TestPROXY01_NginxCompresses(t *testing.T) {
	t.Parallel()
	f, r := fresh(t, harness.RelayConfig{})
	n := startNginx(t, bare(r.URL, "gzip on; gzip_types text/event-stream; gzip_proxied any; gzip_min_length 0;"))
	run := f.Start(r.Producer, "c")
	w := watch(t, browser(t), http.MethodPost, n.url+"/chat/live", harness.Live("c"))
	require.True(t, w.resp.Uncompressed, "nginx has compressed it")
	oneByOne(t, f, run, w)
}

// tunnel buffers as cloudflared does: what is no event stream by its type waits until
// much of it is there.
func tunnel(t *testing.T, target string) string {
	t.Helper()
	to, err := url.Parse(target)
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxy.ServeHTTP(&hoarder{ResponseWriter: w}, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// hoarder keeps 4 KiB back, and knows one type for which it does not.
type hoarder struct {
	http.ResponseWriter
	held []byte
}

func (h *hoarder) streams() bool { return h.Header().Get("Content-Type") == "text/event-stream" }

func (h *hoarder) Write(b []byte) (int, error) {
	h.held = append(h.held, b...)
	if h.streams() || len(h.held) > 4<<10 {
		return len(b), h.pass()
	}
	return len(b), nil
}

func (h *hoarder) pass() error {
	_, err := h.ResponseWriter.Write(h.held)
	h.held = nil
	return err
}

func (h *hoarder) FlushError() error {
	if !h.streams() {
		return nil
	}
	return http.NewResponseController(h.ResponseWriter).Flush()
}

func TestPROXY01_TunnelThatKnowsStreamsByTheirType(t *testing.T) {
	t.Parallel()
	f, r := fresh(t, harness.RelayConfig{})
	url := tunnel(t, r.URL)
	run := f.Start(r.Producer, "c")
	oneByOne(t, f, run, live(t, url, "c"))
}
