package agui_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// chain is all that stands between a stock client and an agent: a relay, the queue, and a worker as it is shipped.
type chain struct {
	*harness.Fabric
	t     *testing.T
	relay *harness.Relay
	chat  string // where clients post
}

// newChain boots one in front of the agent at url.
func newChain(t *testing.T, url string) *chain {
	t.Helper()
	return newChainOf(t, app.AgentConfig{Kind: app.AgentAGUI, URL: url})
}

func newChainOf(t *testing.T, agent app.AgentConfig) *chain {
	t.Helper()
	h := harness.New(t, harness.Config{Broker: natsd.Config{Listen: "127.0.0.1:0"}})
	c := &chain{Fabric: h, t: t, relay: h.Relay(harness.RelayConfig{Relay: relay.Config{}})}
	c.chat = c.relay.URL + "/chat"
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- app.RunWorker(ctx, app.Config{NATS: h.Broker.ClientURL(), Worker: &app.WorkerConfig{Agent: agent}}, nil)
	}()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-done)
	})
	return c
}

// saved are the chat's turns.
func (c *chain) saved(chat string) []history.Turn {
	c.t.Helper()
	all, err := history.Open(c.relay.Store).Read(c.within(), "", chat, 0)
	require.NoError(c.t, err)
	return all
}

func (c *chain) within() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	c.t.Cleanup(cancel)
	return ctx
}

// said is what a request is answered with.
type said struct {
	RunID  subjects.RunID `json:"run_id"`
	Status any            `json:"status"`
	Code   string         `json:"code"`
}

// post wants a status.
func (c *chain) post(status int, path, format string, args ...any) (v said) {
	c.t.Helper()
	a, err := harness.Ask(c.within(), http.MethodPost, c.relay.URL+path, fmt.Sprintf(format, args...))
	require.NoError(c.t, err)
	body, err := a.Rest()
	require.NoError(c.t, err)
	require.Equal(c.t, status, a.Status, body)
	require.NoError(c.t, json.Unmarshal([]byte(body), &v), body)
	return v
}

// over waits for a run's end.
func (c *chain) over(id subjects.RunID) *harness.Seen {
	c.t.Helper()
	return c.Watch(c.relay.Hub, c.relay.Link, id, nil)
}

// upstream is an AG-UI agent by hand. It keeps what it is asked and answers as the test says.
type upstream struct {
	t   *testing.T
	url string

	mu    sync.Mutex
	asked []*asked
}

// asked is one request to the agent, and the way to answer it.
type asked struct {
	n                int // from 0
	header           http.Header
	body             string
	ThreadID, RunID  string
	Messages, Resume json.RawMessage
	State            json.RawMessage

	w    http.ResponseWriter
	gone <-chan struct{} // closed when the request is
}

// newUpstream serves an agent until the test ends.
func newUpstream(t *testing.T, answer func(*asked)) *upstream {
	t.Helper()
	u := &upstream{t: t}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		a := &asked{header: r.Header.Clone(), body: string(body), w: w, gone: r.Context().Done()}
		if err := json.Unmarshal(body, a); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		u.mu.Lock()
		a.n = len(u.asked)
		u.asked = append(u.asked, a)
		u.mu.Unlock()
		answer(a)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	u.url = server.URL
	return u
}

// say sends bytes at once.
func (a *asked) say(body []byte) {
	a.w.Header().Set("Content-Type", "text/event-stream")
	_, _ = a.w.Write(body)
	_ = http.NewResponseController(a.w).Flush()
}

// hold waits for the test, or until the request is gone.
func (a *asked) hold(until <-chan struct{}) {
	select {
	case <-until:
	case <-a.gone:
	}
}

// requests are what the agent was asked so far.
func (u *upstream) requests() []*asked {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]*asked(nil), u.asked...)
}

// conversation is what talk.mjs holds.
type conversation struct {
	URL      string          `json:"url"`
	ThreadID string          `json:"threadId"`
	State    json.RawMessage `json:"state,omitempty"`
	Turns    []talkTurn      `json:"turns"`
}

type talkTurn struct {
	RunID    string          `json:"runId,omitempty"`
	Messages json.RawMessage `json:"messages,omitempty"`
	Tools    json.RawMessage `json:"tools,omitempty"`
	Answers  json.RawMessage `json:"answers,omitempty"`
}

// talk lets a stock client hold conversations, one after the other, and returns what it had after each turn.
func talk(t *testing.T, all ...conversation) (verdicts [][]verdict) {
	t.Helper()
	requireClient(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	command := exec.CommandContext(ctx, "node", "talk.mjs")
	script, err := json.Marshal(all)
	require.NoError(t, err)
	command.Stdin = bytes.NewReader(script)
	turns := 0
	for _, c := range all {
		turns += len(c.Turns)
	}
	flat := launch(t, command, cancel, turns).wait()
	for _, c := range all {
		verdicts = append(verdicts, flat[:len(c.Turns)])
		flat = flat[len(c.Turns):]
	}
	return verdicts
}

// requireSame requires that two clients ended up with the same and were given the same.
func requireSame(t *testing.T, want, got verdict) {
	t.Helper()
	require.Equal(t, want.Outcome, got.Outcome, "%+v; %+v", want.Error, got.Error)
	require.Equal(t, want.Error, got.Error)
	if want.Outcome == "rejected" {
		return // how much a client had applied when it gave up depends on how the bytes were cut
	}
	require.JSONEq(t, string(want.Messages), string(got.Messages))
	require.JSONEq(t, string(want.State), string(got.State))
	require.Equal(t, string(want.Result), string(got.Result))
	require.Equal(t, folded(t, want.Events), folded(t, got.Events))
}

// folded are events as they are once nothing can be merged any more.
func folded(t *testing.T, events []json.RawMessage) (out []any) {
	t.Helper()
	var fold agui.Fold
	var e agui.Event
	for _, event := range events {
		require.NoError(t, agui.Scan(event, &e))
		fold.Add(&e)
	}
	for line := range agui.Lines(fold.AppendTo(nil)) {
		var v any
		require.NoError(t, json.Unmarshal(line, &v))
		out = append(out, v)
	}
	return out
}
