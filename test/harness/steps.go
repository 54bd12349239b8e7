package harness

import (
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/test/proxy"
)

// Front puts a proxy before the relay and returns it with the address to use
// instead of URL.
func (f *Fabric) Front(r *Relay) (p *proxy.Proxy, url string) {
	f.Helper()
	p, err := proxy.Start(strings.TrimPrefix(r.URL, "http://"))
	require.NoError(f, err)
	f.Cleanup(p.Close)
	return p, "http://" + p.Addr()
}

// with makes metrics tell steps too.
func with(m, steps consumer.HubMetrics) consumer.HubMetrics {
	m.Tails = then(m.Tails, steps.Tails)
	m.Snapshot = then(m.Snapshot, steps.Snapshot)
	m.Replay = then(m.Replay, steps.Replay)
	m.CatchUp = then(m.CatchUp, steps.CatchUp)
	return m
}

func then[T any](a, b func(T)) func(T) {
	if b == nil {
		return a
	}
	return func(v T) {
		a(v)
		b(v)
	}
}
