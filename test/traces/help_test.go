package traces_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rejoin/rejoin/internal/app"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait.
const patience = 2 * time.Minute

const (
	traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	caller  = "00f067aa0ba902b7"
	parent  = "00-" + traceID + "-" + caller + "-01"
)

// fabric is a relay and a worker, each with a connection of its own, and the agent and
// the saver that they meet.
type fabric struct {
	*testing.T
	relay *app.App
	agent *peer
	saver *peer
	logs  *logs
}

// peer is a server that remembers what it was sent.
type peer struct {
	*httptest.Server
	mu   sync.Mutex
	seen []*http.Request
	came chan struct{}
}

func newPeer(t *testing.T, answer http.HandlerFunc) *peer {
	p := &peer{came: make(chan struct{}, 100)}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		p.mu.Lock()
		p.seen = append(p.seen, r)
		p.mu.Unlock()
		p.came <- struct{}{}
		answer(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// next is the next request that comes.
func (p *peer) next(t *testing.T) *http.Request {
	t.Helper()
	select {
	case <-p.came:
	case <-time.After(patience):
		t.Fatal("no request came")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.seen[0]
	p.seen = p.seen[1:]
	return r
}

// says is an agent's whole answer.
func says(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range []string{`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`} {
		fmt.Fprintf(w, "data: %s\n\n", e)
	}
}

// newFabric starts all; the configurations are those of relay and worker, and may be nil.
func newFabric(t *testing.T, trace app.TraceConfig) *fabric {
	t.Helper()
	f := &fabric{T: t, logs: &logs{}, agent: newPeer(t, says), saver: newPeer(t, func(http.ResponseWriter, *http.Request) {})}
	log := slog.New(slog.NewTextHandler(f.logs, nil))
	relay, err := app.New(app.Config{Addr: "127.0.0.1:0", NATSAddr: "127.0.0.1:0", Trace: trace, Logger: log})
	require.NoError(t, err)
	f.run(func(ctx context.Context) error { return relay.Run(ctx) })
	select {
	case <-relay.Ready():
	case <-time.After(patience):
		t.Fatal("the relay does not serve")
	}
	f.relay = relay
	cfg := app.Config{NATS: relay.Broker().ClientURL(), Trace: trace, Logger: log, Worker: &app.WorkerConfig{
		Agent: app.AgentConfig{Kind: app.AgentAGUI, URL: f.agent.URL}, SaveURL: f.saver.URL}}
	f.run(func(ctx context.Context) error { return app.RunWorker(ctx, cfg, nil) })
	return f
}

// run runs a part until the test ends.
func (f *fabric) run(part func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- part(ctx) }()
	f.Cleanup(func() {
		cancel()
		require.NoError(f, <-done)
	})
}

// send posts a message in a trace, and gives its run.
func (f *fabric) send(path, body string, header ...string) string {
	f.Helper()
	resp := f.post(path, body, header...)
	defer resp.Body.Close()
	var said struct {
		RunID string `json:"run_id"`
	}
	require.NoError(f, json.NewDecoder(resp.Body).Decode(&said))
	require.NotEmpty(f, said.RunID)
	return said.RunID
}

func (f *fabric) post(path, body string, header ...string) *http.Response {
	f.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	f.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.relay.URL()+path, strings.NewReader(body))
	require.NoError(f, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(f, err)
	require.Less(f, resp.StatusCode, 300)
	return resp
}

type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logs) lines(with ...string) (found int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.b.String()) {
		all := true
		for _, w := range with {
			all = all && strings.Contains(line, w)
		}
		if all {
			found++
		}
	}
	return found
}
