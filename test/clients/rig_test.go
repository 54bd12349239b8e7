package clients_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/producer/worker"
	"github.com/rejoin/rejoin/test/harness"
	"github.com/rejoin/rejoin/test/proxy"
)

var errFail = errors.New("the agent was asked to fail")

// rig is a broker, a relay, a worker, and a proxy between the relay and its clients.
type rig struct {
	t     *testing.T
	f     *harness.Fabric
	relay *harness.Relay
	agent *halves
	proxy *proxy.Proxy
	url   string // through the proxy
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, f: harness.New(t, harness.Config{Broker: harness.Networked(t)}), agent: newHalves()}
	r.relay = r.f.Relay(harness.RelayConfig{Janitor: runs.JanitorConfig{Interval: 100 * time.Millisecond}})
	r.f.Worker(r.agent, worker.Config{})
	r.proxy, r.url = r.f.Front(r.relay)
	return r
}

// post asks the relay itself for something, and gives the answer's status and body.
func (r *rig) post(path, body string) (int, string) {
	r.t.Helper()
	resp, err := http.Post(r.relay.URL+path, "application/json", strings.NewReader(body)) //nolint:noctx // it answers at once
	require.NoError(r.t, err)
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err)
	return resp.StatusCode, string(all)
}

// runs is how many runs have been asked for in a chat.
func (r *rig) runs(chat string) int { return len(r.agent.asked(chat)) }

// again puts another relay in the place of the one that there is.
func (r *rig) again() {
	r.t.Helper()
	addr := strings.TrimPrefix(r.relay.URL, "http://")
	r.relay.Stop()
	r.relay = r.f.Relay(harness.RelayConfig{Addr: addr})
}

// saved waits until a chat's turn is in its history, and its run is given to nobody who asks afresh: its
// entry says so a moment after its log.
func (r *rig) saved(chat string) {
	r.t.Helper()
	harness.Eventually(r.t, "the run is over", func() bool {
		status, _ := r.post("/chat/live", harness.Live(chat))
		return status == http.StatusNoContent
	})
}
