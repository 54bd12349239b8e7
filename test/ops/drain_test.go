package ops_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/test/harness"
)

// OPS-01: a relay with 500 readers and 50 producers is told to stop. It is unready at once, its
// readers are on the other relay within a few seconds and its producers go on there; nothing is
// lost or repeated, and it ends well.
func TestOPS01_ARelayGoesUnder500ReadersAnd50Producers(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	const producers, readers = 50, 500
	_, f := broker(t)
	first, second := relay(f), relay(f)
	lb := newBalancer(t, first.URL, second.URL)
	c := gather(ctx, t, lb, producers)
	c.read(ctx, readers)
	n, _ := lb.at(0)
	require.Equal(t, readers, n, "all read at the first relay")
	c.goesOn()

	from := time.Now()
	first.Terminate()
	seen := http.StatusOK
	harness.Eventually(t, "it is unready", func() bool {
		seen = status(ctx, first.URL+"/readyz")
		return seen != http.StatusOK
	})
	require.Equal(t, http.StatusServiceUnavailable, seen, "it says so, and does not just go")
	unready := since(from)
	require.Equal(t, http.StatusOK, status(ctx, second.URL+"/readyz"))
	gone := make(chan time.Duration, 1)
	go func() {
		if code := first.Exit(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		gone <- since(from)
	}()
	harness.Eventually(t, "all readers are back", func() bool {
		n, _ := lb.at(1)
		return n == readers
	})
	exit := <-gone
	_, back := lb.at(1)
	streams, closed := lb.lastClosed()
	require.Equal(t, readers, streams, "every stream came to its end and was not broken off")
	c.goesOn()
	c.end()
	t.Logf("unready after %v; the last stream closed after %v; the last reader back after %v; exit 0 after %v; %d events in all; requests broken off: %v",
		unready, closed.Sub(from).Round(time.Millisecond), back.Sub(from).Round(time.Millisecond), exit, c.published(), lb.broken)
}

// OPS-01: three relays are restarted one after the other under readers and producers, who
// notice nothing but that streams are to be opened again.
func TestOPS01_RollingRestart(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	_, f := broker(t)
	relays := []*harness.Rejoin{relay(f), relay(f), relay(f)}
	lb := newBalancer(t, relays[0].URL, relays[1].URL, relays[2].URL)
	lb.spread = true
	c := gather(ctx, t, lb, 12)
	c.read(ctx, 120)
	from := time.Now()
	for _, r := range relays {
		began := time.Now()
		r.Terminate()
		require.Zero(t, r.Exit())
		t.Logf("exit 0 after %v", since(began))
		r.Start()
		r.Ready()
		c.goesOn()
	}
	c.end()
	t.Logf("three restarts in %v, %d events", since(from), c.published())
}
