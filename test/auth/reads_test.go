package auth_test

import (
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// reads are the requests for what is stored that reach the broker.
type reads struct {
	w   *world
	nc  *nats.Conn
	sub *nats.Subscription
}

// countReads listens to them from now on.
func (w *world) countReads() *reads {
	w.Helper()
	nc, err := w.app.Broker().Connect()
	require.NoError(w, err)
	w.Cleanup(nc.Close)
	sub, err := nc.SubscribeSync("$JS.API.>")
	require.NoError(w, err)
	return &reads{w, nc, sub}
}

// naming counts those since the last call that name a target's chat or its run: what a
// janitor or a canary asks meanwhile does not.
func (r *reads) naming(t target) (n int) {
	r.w.Helper()
	require.NoError(r.w, r.nc.Flush()) // what was asked before is here then
	for {
		if pending, _, err := r.sub.Pending(); err != nil || pending == 0 {
			require.NoError(r.w, err)
			return n
		}
		m, err := r.sub.NextMsg(time.Second)
		require.NoError(r.w, err)
		if body := string(m.Data); strings.Contains(body, t.chat) || strings.Contains(body, t.run) {
			n++
		}
	}
}
