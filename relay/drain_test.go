package relay_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/subjects"
)

// OPS-01: unready at once, nobody new, streams closed between frames and without
// an end, with a time to come back that is not the same for all.
func TestOPS01_DrainWithOpenStreams(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *relay.Config) { c.DrainWindow = 300 * time.Millisecond })
	r := f.start("c")
	r.deltas(3)
	ended := f.start("ended")
	ended.deltas(1)
	var all []*observer
	for range 50 {
		o := f.live(`{"chat_id":"c","protocol":1}`)
		o.until(3)
		all = append(all, o)
	}
	waiter := make(chan answer, 1)
	go func() {
		waiter <- f.do(http.MethodPost, "/chat/live", `{"chat_id":"idle","protocol":1,"wait_ms":30000}`)
	}()
	f.waiting(1)
	require.Equal(t, http.StatusOK, f.do(http.MethodGet, "/readyz", "").status)

	f.relay.Drain()
	a := f.do(http.MethodGet, "/readyz", "")
	require.Equal(t, http.StatusServiceUnavailable, a.status)
	require.Contains(t, a.problem(t).Detail, "shutting down")
	require.Equal(t, http.StatusOK, f.do(http.MethodGet, "/livez", "").status)
	for _, refused := range []answer{<-waiter, f.do(http.MethodPost, "/chat/live", `{"chat_id":"c","protocol":1}`),
		f.do(http.MethodGet, "/chat/live?chat_id=c", "")} {
		require.Equal(t, http.StatusServiceUnavailable, refused.status)
		require.NotEmpty(t, refused.header.Get("Retry-After"))
		require.Equal(t, "unavailable", refused.problem(t).Code)
	}
	f.stop()
	retries := map[time.Duration]bool{}
	for _, o := range all {
		o.closed()
		require.Nil(t, o.end)
		require.Positive(t, o.sse.Retry())
		retries[o.sse.Retry()] = true
	}
	require.Greater(t, len(retries), 10, "nobody comes back together")
	f.drained()
	require.Contains(t, f.logs.String(), "cause=drain")

	// The run goes on, and another relay has the rest.
	other := newRelayOn(f, nil)
	r.deltas(2)
	o := other.live(fmt.Sprintf(`{"chat_id":"c","protocol":1,"run_id":%q,"after_seq":3}`, r.id()))
	o.seq, o.text = 3, text(3)
	r.finish(done)
	o.toEnd()
	require.Zero(t, o.snapshots)
	require.Equal(t, text(5), o.text)
}

// newRelayOn starts one more relay on the same broker.
func newRelayOn(f *fabric, change func(*relay.Config)) *fabric {
	f.t.Helper()
	g := *f
	g.served = make(chan error, 1)
	cfg := relay.Config{Hub: f.hub, Store: f.store}
	if change != nil {
		change(&cfg)
	}
	var err error
	g.relay, err = relay.New(cfg)
	require.NoError(f.t, err)
	g.serve()
	return &g
}

// A second call hurries.
func TestOPS01_SecondDrainHurries(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *relay.Config) { c.DrainWindow, c.DrainTimeout = time.Hour, time.Hour })
	f.start("c").deltas(1)
	o := f.live(`{"chat_id":"c","protocol":1}`)
	o.until(1)
	f.relay.Drain()
	f.stop()
	f.relay.Drain()
	o.closed()
	require.Positive(t, o.sse.Retry())
	f.drained()
}

// A client that does not read, and a request that does not end, hold nothing up.
func TestOPS01_DrainIsBounded(t *testing.T) {
	t.Parallel()
	in, out := make(chan struct{}), make(chan struct{})
	f := newFabric(t, func(c *relay.Config) {
		c.DrainTimeout, c.WriteTimeout = 300*time.Millisecond, time.Hour
		c.Producer = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			close(in)
			defer close(out)
			_, _ = io.Copy(io.Discard, r.Body)
		})
	})
	r := f.start("c")
	for i := range 50 {
		r.publish(big(i))
	}
	f.stall("c")
	f.watching(1)
	body, feed := io.Pipe()
	defer feed.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url+"/runs/x/events", body)
	require.NoError(t, err)
	go func() {
		resp, err := f.client.Do(req)
		if err == nil {
			resp.Body.Close()
		}
	}()
	<-in
	f.stop()
	f.drained()
	select {
	case <-out:
	case <-time.After(patience):
		t.Fatal("the request was not broken off")
	}
}

// TERM-08: an age close is no end; the client comes back with its cursor.
func TestTERM08_StreamClosedByAge(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *relay.Config) { c.MaxStreamAge = 20 * time.Millisecond })
	r := f.start("c")
	o := f.live(`{"chat_id":"c","protocol":1}`)
	o.seq = 0
	for i := 0; i < 5; i++ { // five streams, one run
		r.deltas(1)
		for {
			m, err := o.sse.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			o.take(m.Data)
		}
		require.Nil(t, o.end)
		require.Positive(t, o.sse.Retry())
		seen, said := o.seq, o.text
		o = f.live(fmt.Sprintf(`{"chat_id":"c","protocol":1,"run_id":%q,"after_seq":%d}`, r.id(), seen))
		o.seq, o.text = seen, said
	}
	require.Contains(t, f.logs.String(), "cause=age")
	o.close()
	last := newRelayOn(f, nil).live(fmt.Sprintf(`{"chat_id":"c","protocol":1,"run_id":%q,"after_seq":%d}`, r.id(), o.seq))
	last.seq, last.text = o.seq, o.text
	r.finish(subjects.End{Persisted: true, Reason: subjects.ReasonDone})
	last.toEnd()
	require.Equal(t, text(5), last.text)
}

func TestObserversAreLimited(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *relay.Config) { c.MaxObservers = 2 })
	f.start("c").deltas(1)
	a, b := f.live(`{"chat_id":"c","protocol":1}`), f.live(`{"chat_id":"c","protocol":1}`)
	refused := f.do(http.MethodPost, "/chat/live", `{"chat_id":"c","protocol":1}`)
	require.Equal(t, http.StatusServiceUnavailable, refused.status)
	require.NotEmpty(t, refused.header.Get("Retry-After"))
	require.Equal(t, "too_many_requests", refused.problem(t).Code)
	require.Equal(t, 1.0, f.number(`rejoin_observers_refused_total{why="full"}`))
	require.Equal(t, http.StatusOK, f.do(http.MethodGet, "/readyz", "").status)
	a.close()
	f.watching(1)
	f.live(`{"chat_id":"c","protocol":1}`)
	b.until(1)
}

// A broker that is away makes the relay unready, and costs no stream.
func TestBrokerRestart(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	r := f.start("c")
	r.deltas(2)
	o := f.live(`{"chat_id":"c","protocol":1}`)
	o.until(2)
	f.broker.Stop()
	f.unready(http.StatusServiceUnavailable)
	a := f.do(http.MethodPost, "/chat/live", `{"chat_id":"c","protocol":1}`)
	require.Equal(t, http.StatusServiceUnavailable, a.status)
	require.Contains(t, a.problem(t).Detail, "broker")
	require.Equal(t, http.StatusServiceUnavailable, f.do(http.MethodGet, "/runs/"+r.id(), "").status)
	require.NoError(t, f.broker.Restart())
	f.unready(http.StatusOK)
	r.deltas(2)
	r.finish(done)
	o.toEnd()
	require.Equal(t, text(4), o.text)
}

// unready waits until /readyz answers with a status.
func (f *fabric) unready(status int) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	for f.do(http.MethodGet, "/readyz", "").status != status {
		require.NoError(f.t, ctx.Err())
	}
}
