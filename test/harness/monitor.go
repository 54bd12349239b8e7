package harness

import (
	"encoding/json"
	"net"
	"strconv"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
)

// Monitor asks a broker what it holds on behalf of others.
type Monitor struct {
	testing.TB
	addr string
}

// Monitored makes the broker of a configuration answer a Monitor.
func Monitored(t testing.TB, cfg natsd.Config) (natsd.Config, *Monitor) {
	t.Helper()
	m := &Monitor{TB: t, addr: FreeAddr(t)}
	cfg.Tune = monitorOn(m.addr)
	return cfg, m
}

// monitorOn makes a broker answer questions at an address.
func monitorOn(addr string) func(*server.Options) {
	host, p, _ := net.SplitHostPort(addr)
	port, _ := strconv.Atoi(p)
	return func(o *server.Options) { o.HTTPHost, o.HTTPPort = host, port }
}

// Held is what a broker holds.
type Held struct {
	Connections   int
	Subscriptions uint32 // of clients and of the broker's own parts
	Consumers     int
}

// AtRest is what it holds for longer than one question takes: producers ask now and then,
// and listen for the answer while they do.
func (m *Monitor) AtRest() Held {
	m.Helper()
	least := m.Held()
	for range 20 {
		if h := m.Held(); h.Subscriptions < least.Subscriptions {
			least = h
		}
	}
	return least
}

// Held asks for it.
func (m *Monitor) Held() Held {
	m.Helper()
	var vars server.Varz
	var js server.JSInfo
	m.get("/varz", &vars)
	m.get("/jsz", &js)
	return Held{Connections: vars.Connections, Subscriptions: vars.Subscriptions, Consumers: js.Consumers}
}

func (m *Monitor) get(path string, into any) {
	m.Helper()
	resp, err := wireHTTP.Get("http://" + m.addr + path)
	require.NoError(m, err)
	defer resp.Body.Close()
	require.NoError(m, json.NewDecoder(resp.Body).Decode(into))
}
