package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/test/harness"
	"github.com/rejoin/rejoin/test/proxy"
)

// large is an event of about 100 KiB, the ith of its run.
func large(i uint64) []byte {
	return fmt.Appendf(nil, `{"type":"CUSTOM","name":"large","value":"%d%s"}`, i, strings.Repeat("x", 100<<10))
}

// busy is how long an observer that does read may take on a busy machine.
const busy = 10 * time.Second

// publishLarge publishes n large events and waits until they are stored.
func publishLarge(ctx context.Context, t *testing.T, run *producer.Run, n int) {
	t.Helper()
	for range n {
		_, err := run.Publish(ctx, large(run.LastSeq()+1))
		require.NoError(t, err)
	}
	_, err := run.Flush(ctx)
	require.NoError(t, err)
}

// SLOW-02: what lies between a relay and its observer stops passing anything on, without
// a word. The relay lets go of such observers; a reader beside them has everything.
func TestSLOW02_ObserversBehindADeadNetworkAreCutOff(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	f := harness.New(t, harness.Config{})
	r := f.Relay(harness.RelayConfig{Relay: relay.Config{WriteTimeout: busy}})
	dead, err := proxy.Start(strings.TrimPrefix(r.URL, "http://"))
	require.NoError(t, err)
	t.Cleanup(dead.Close)
	run := f.Start(f.Producer(f.Connect()), "chat")
	publishLarge(ctx, t, run, 1)
	const stalled = 5
	for range stalled {
		c := watch(t, "http://"+dead.Addr(), harness.Live("chat"))
		require.NoError(t, new(harness.Observer).Until(ctx, c, 1))
	}
	reader := readTo(ctx, t, r, 1)
	release := dead.Hold(proxy.Down)
	t.Cleanup(release)

	read := make(chan error, 1)
	go func() { read <- reader.o.Until(ctx, reader.from, 151) }()
	publishLarge(ctx, t, run, 150) // more than the sockets on the way take
	require.NoError(t, <-read)
	harness.Eventually(t, "the dead observers are gone", func() bool { return r.Number("rejoin_observers") == 1 })
	require.EqualValues(t, stalled, r.Number("rejoin_streams_closed_total", "stalled"))
	finish(t, run, true)
	require.NoError(t, reader.o.ToEnd(ctx, reader.from))
	require.Equal(t, 1, reader.o.Snapshots)
}

// SLOW-02: fifty streams share one HTTP/2 connection, and one of them is never read. The
// others have every event all the same, and the one is cut off.
func TestSLOW02_AStalledStreamStarvesNoneOfFifty(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	f := harness.New(t, harness.Config{})
	r := f.Relay(harness.RelayConfig{Relay: relay.Config{WriteTimeout: busy}})
	run := f.Start(f.Producer(f.Connect()), "chat")
	publishLarge(ctx, t, run, 1)

	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	var dialled int
	// A stream that is not read takes little, so that little has to be sent to stall it.
	window := &http.HTTP2Config{MaxReceiveBufferPerStream: 256 << 10}
	transport := &http.Transport{Protocols: protocols, HTTP2: window, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		dialled++ // one at a time: the first request goes alone
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	open := func() io.ReadCloser {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL+"/chat/live", strings.NewReader(harness.Live("chat")))
		require.NoError(t, err)
		resp, err := transport.RoundTrip(req)
		require.NoError(t, err)
		require.Equal(t, 2, resp.ProtoMajor)
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp.Body
	}
	open() // and never read
	const events, readers = 12, 49
	var reading sync.WaitGroup
	for i := range readers {
		body := open()
		reading.Go(func() {
			if err := harness.Dense(body, events); err != nil {
				t.Errorf("reader %d: %v", i, err)
			}
		})
	}
	publishLarge(ctx, t, run, events-1)
	harness.Eventually(t, "the stalled stream is cut off", func() bool { return r.Number("rejoin_streams_closed_total", "stalled") == 1 })
	finish(t, run, true)
	reading.Wait()
	require.Equal(t, 1, dialled, "all on one connection")
}

// SLOW-02: observers that have stopped reading cost the relay a bounded amount of memory
// each, however much is published meanwhile. Alone in its process, for the sake of the heap.
func TestSLOW02_StalledObserversCostBoundedMemory(t *testing.T) { //nolint:paralleltest // measures the heap
	ctx := bounded(t)
	f := harness.New(t, harness.Config{URL: harness.NewBroker(t).URL})
	r := f.Relay(harness.RelayConfig{Relay: relay.Config{WriteTimeout: time.Hour}})
	run := f.Start(f.Producer(f.Connect()), "chat")
	publishLarge(ctx, t, run, 5)
	before := heap()
	const stalled, perObserver = 20, 3 << 20
	for range stalled {
		stall(ctx, t, r.URL)
	}
	harness.Eventually(t, "all are served", func() bool { return r.Number("rejoin_frames_total", "STREAM_SNAPSHOT") == stalled })
	publishLarge(ctx, t, run, 400) // 40 MiB, ten times what a socket takes
	harness.Eventually(t, "the last segment is stored", func() bool {
		e, err := r.Store.Entry(ctx, run.ID())
		return err == nil && e.Seq > 400
	})
	require.EqualValues(t, stalled, r.Number("rejoin_observers"))
	grown := int64(heap()) - int64(before)
	require.Less(t, grown, int64(stalled*perObserver), "bytes held for %d stalled observers", stalled)
	t.Logf("%d KiB for each stalled observer", grown/stalled>>10)
}

// stall opens a stream on a socket that takes little, and never reads from it.
func stall(ctx context.Context, t *testing.T, url string) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
	body := harness.Live("chat")
	_, err = fmt.Fprintf(conn, "POST /chat/live HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	require.NoError(t, err)
}

// heap is how much is in use after everything that can go has gone.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what the first one made free
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
