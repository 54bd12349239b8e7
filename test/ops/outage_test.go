package ops_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/test/harness"
)

// held is readers of one request each: one whose stream ends before its run does is an error.
type held struct {
	t      *testing.T
	work   sync.WaitGroup
	conns  []*harness.Conn
	frames atomic.Int64
}

// hold opens the streams, spread over the writers' runs, and waits for the first frame of each.
func hold(ctx context.Context, t *testing.T, url string, writers []*writer, readers int) *held {
	t.Helper()
	h := &held{t: t}
	var attached sync.WaitGroup
	for i := range readers {
		w := writers[i%len(writers)]
		c, err := harness.Ask(ctx, http.MethodPost, url+"/chat/live", harness.Live(w.chat))
		require.NoError(t, err)
		t.Cleanup(c.Close)
		require.Equal(t, http.StatusOK, c.Status)
		h.conns = append(h.conns, c)
		attached.Add(1)
		attach := sync.OnceFunc(attached.Done)
		h.work.Go(func() {
			defer attach()
			if err := h.read(ctx, c, w, attach); err != nil {
				t.Errorf("reader %d of %s: %v", i, w.chat, err)
			}
		})
	}
	attached.Wait()
	return h
}

// read reads to the end of the run and wants exactly what was published.
func (h *held) read(ctx context.Context, c *harness.Conn, w *writer, first func()) error {
	o := &harness.Observer{}
	for o.End == nil {
		f, err := c.Next(ctx)
		if err != nil {
			return fmt.Errorf("at %d: %w", o.Seq, err)
		}
		if err := o.Apply(f); err != nil {
			return err
		}
		h.frames.Add(1)
		first()
	}
	<-w.over
	return o.Holds(w.acked.Load())
}

// outage is what happens to a broker, and how it comes back.
type outage struct {
	readers, producers int
	lasts              time.Duration
	begin, end         func(*harness.Rejoin)
}

// OPS-01, BRK-01: the broker is stopped for 30 seconds under 500 readers and 50 producers. The
// relay is alive and not ready, its streams stay open and are kept alive with comments; afterwards
// everything is exact, and no process was restarted.
func TestOPS01_TheBrokerIsStoppedFor30Seconds(t *testing.T) {
	t.Parallel()
	outage{500, 50, 30 * time.Second, (*harness.Rejoin).Kill, func(b *harness.Rejoin) {
		b.Start()
		b.Ready()
	}}.survive(t)
}

// The same for a broker that stands still: its connections stay open and say nothing.
func TestOPS01_TheBrokerStandsStill(t *testing.T) {
	t.Parallel()
	outage{60, 12, 25 * time.Second, (*harness.Rejoin).Freeze, (*harness.Rejoin).Thaw}.survive(t)
}

func (o outage) survive(t *testing.T) {
	t.Helper()
	ctx := bounded(t)
	b, f := broker(t)
	r := relay(f)
	c := gather(ctx, t, newBalancer(t, r.URL), o.producers)
	h := hold(ctx, t, r.URL, c.writers, o.readers)
	c.goesOn()
	born, err := r.Number("process_start_time_seconds")
	require.NoError(t, err)

	from := time.Now()
	o.begin(b)
	harness.Eventually(t, "it is unready", func() bool { return status(ctx, r.URL+"/readyz") == http.StatusServiceUnavailable })
	unready := since(from)
	var looks int
	for time.Since(from) < o.lasts { // this is how long the outage lasts, and not how long something may take
		require.Equal(t, http.StatusOK, status(ctx, r.URL+"/livez"))
		require.Equal(t, http.StatusServiceUnavailable, status(ctx, r.URL+"/readyz"))
		looks++
		time.Sleep(time.Second) // between looks
	}
	n, err := r.Number("rejoin_observers")
	require.NoError(t, err)
	require.EqualValues(t, o.readers, n, "every stream is open")
	before := h.frames.Load()
	back := time.Now()
	o.end(b)
	harness.Eventually(t, "it is ready", func() bool { return status(ctx, r.URL+"/readyz") == http.StatusOK })
	ready := since(back)
	c.goesOn()
	flows := since(back)
	require.Greater(t, h.frames.Load(), before)
	c.end()
	h.work.Wait()
	for i, conn := range h.conns {
		// Every ten seconds of silence bring one; the first comes with the stream itself.
		require.GreaterOrEqual(t, conn.Comments(), uint64(1+2), "reader %d", i)
	}
	still, err := r.Number("process_start_time_seconds")
	require.NoError(t, err)
	require.InDelta(t, born, still, 0)
	r.Terminate()
	require.Zero(t, r.Exit())
	t.Logf("unready after %v, and %d times asked meanwhile; after its return ready in %v, and every producer went on in %v; %d events in all",
		unready, looks, ready, flows, c.published())
}
