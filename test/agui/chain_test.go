package agui_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

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
