package ingest_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/auth"
	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/producer/ingest"
	"github.com/rejoin/rejoin/subjects"
)

// tenants makes a node ask whose producer it is that calls: the header Tenant says so.
// until ends the credentials of them all.
func tenants(t *testing.T, n *node, until <-chan struct{}) (calls *atomic.Int64) {
	t.Helper()
	calls = new(atomic.Int64)
	router := chi.NewRouter()
	n.handler.Routes(router)
	n.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := &auth.Identity{Tenant: r.Header.Get("Tenant"), Owner: "service", Roles: auth.NewRoles(auth.Producer)}
		var err error
		if id.Realm, err = subjects.NewRealm(id.Tenant, id.Owner); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		ctx := auth.With(r.Context(), id)
		if until != nil {
			ctx = auth.Until(ctx, until)
		}
		calls.Add(1)
		router.ServeHTTP(w, r.WithContext(ctx))
	})
	return calls
}

// slowDialer connects to a broker; once shut, nothing goes there until it is opened.
type slowDialer struct {
	shut  atomic.Bool
	open  chan struct{}
	waits chan struct{} // of capacity 1: something does
}

func (d *slowDialer) Dial(network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: patience}).Dial(network, address)
	return slowConn{conn, d}, err
}

type slowConn struct {
	net.Conn
	d *slowDialer
}

func (c slowConn) Write(b []byte) (int, error) {
	if c.d.shut.Load() {
		select {
		case c.d.waits <- struct{}{}:
		default:
		}
		<-c.d.open
	}
	return c.Conn.Write(b)
}

// While a run is being taken over for its producer, another tenant's call waits for the same
// takeover: what comes of it is not its own.
func TestATakeoverIsNobodyElses(t *testing.T) {
	t.Parallel()
	s, err := natsd.Start(natsd.Config{Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(s.Shutdown)
	slow := &slowDialer{open: make(chan struct{}), waits: make(chan struct{}, 1)}
	a, b := newNode(t, s, ingest.Config{}), newNode(t, s, ingest.Config{}, nats.SetCustomDialer(slow))
	tenants(t, a, nil)
	calls := tenants(t, b, nil)
	started := a.post(t, "/runs", `{"chat_id":"c"}`, "Tenant", "t")
	require.Equal(t, 201, started.status, started.body)
	path := "/runs/" + started.body["run_id"].(string)
	require.Equal(t, 200, a.post(t, path+"/events", ndjson(1, 1), "Tenant", "t").status)

	slow.shut.Store(true)
	answers := make([]answer, 5)
	var wg sync.WaitGroup
	wg.Go(func() { answers[0] = b.post(t, path+"/events", ndjson(2, 2), "Tenant", "t") })
	select {
	case <-slow.waits: // the takeover is under way
	case <-time.After(patience):
		t.Fatal("nothing was sent to the broker")
	}
	for i := 1; i < len(answers); i++ {
		wg.Go(func() { answers[i] = b.post(t, path+"/events", event(666), "Tenant", "s") })
	}
	require.Eventually(t, func() bool { return calls.Load() == int64(len(answers)) }, patience, time.Millisecond)
	time.Sleep(20 * time.Millisecond) // not needed to pass; gives a fault the time to show
	close(slow.open)
	wg.Wait()
	require.Equal(t, 200, answers[0].status, answers[0].body)
	for _, foreign := range answers[1:] {
		foreign.isProblem(t, http.StatusNotFound, "not_found")
	}
	a.wantEvents(t, path, 2)
}

// Somebody else's calls for a run do not keep it alive: they are none.
func TestCallsOfOthersKeepNothingAlive(t *testing.T) {
	t.Parallel()
	n := newNode(t, broker(t), ingest.Config{Lease: 300 * time.Millisecond})
	tenants(t, n, nil)
	a := n.post(t, "/runs", `{"chat_id":"c"}`, "Tenant", "t")
	require.Equal(t, 201, a.status, a.body)
	path := "/runs/" + a.body["run_id"].(string)
	var end *subjects.End
	require.Eventually(t, func() bool {
		n.post(t, path+"/heartbeat", "", "Tenant", "s").isProblem(t, http.StatusNotFound, "not_found")
		_, end = n.logged(t, path)
		return end != nil
	}, patience, 10*time.Millisecond)
	require.Equal(t, subjects.ReasonAbandoned, end.Reason)
}

// A relay that holds as many runs as it may says the same of a run of somebody else, held or
// not, and of none.
func TestAFullRelayTellsNothingOfOthers(t *testing.T) {
	t.Parallel()
	n := newNode(t, broker(t), ingest.Config{MaxRuns: 1})
	tenants(t, n, nil)
	a := n.post(t, "/runs", `{"chat_id":"c"}`, "Tenant", "t")
	require.Equal(t, 201, a.status, a.body)
	for _, id := range []string{a.body["run_id"].(string), string(n.store.NewRunID())} {
		n.post(t, "/runs/"+id+"/heartbeat", "", "Tenant", "s").isProblem(t, http.StatusServiceUnavailable, "unavailable")
	}
}

// An open body ends with its caller's credential. What had arrived is stored, and with a
// fresh one the producer goes on.
func TestAnOpenBodyOutlivesNoCredential(t *testing.T) {
	t.Parallel()
	n := newNode(t, broker(t), ingest.Config{})
	over := make(chan struct{})
	tenants(t, n, over)
	a := n.post(t, "/runs", `{"chat_id":"c"}`, "Tenant", "t")
	require.Equal(t, 201, a.status, a.body)
	path := "/runs/" + a.body["run_id"].(string)
	open := n.open(t, path, "Tenant", "t")
	open.send(t, ndjson(1, 3))
	n.waitFor(t, path, 3)
	short := n.openOf(t, path, 1000, "Tenant", "t")
	short.send(t, ndjson(4, 4))
	n.waitFor(t, path, 4)
	close(over)
	for _, s := range []*stream{open, short} {
		got := s.wait(t)
		got.isProblem(t, http.StatusUnauthorized, "token_expired")
		require.Contains(t, got.header.Get("WWW-Authenticate"), "expired")
	}
	tenants(t, n, nil)
	require.Equal(t, 200, n.post(t, path+"/events", ndjson(4, 5), "Tenant", "t", ingest.FirstSeqHeader, "4").status)
	n.wantEvents(t, path, 5)
}

// The same over HTTP/2.
func TestAnOpenBodyOutlivesNoCredentialOverHTTP2(t *testing.T) {
	t.Parallel()
	n := newNode(t, broker(t), ingest.Config{})
	over := make(chan struct{})
	tenants(t, n, over)
	server := httptest.NewUnstartedServer(n.server.Config.Handler)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	transport := &http.Transport{Protocols: server.Config.Protocols}
	t.Cleanup(transport.CloseIdleConnections)
	two := &node{store: n.store, server: server, client: &http.Client{Transport: transport}}
	a := two.post(t, "/runs", `{"chat_id":"c"}`, "Tenant", "t")
	require.Equal(t, 201, a.status, a.body)
	path := "/runs/" + a.body["run_id"].(string)
	open := two.open(t, path, "Tenant", "t")
	open.send(t, ndjson(1, 3))
	two.waitFor(t, path, 3)
	close(over)
	open.wait(t).isProblem(t, http.StatusUnauthorized, "token_expired")
}
