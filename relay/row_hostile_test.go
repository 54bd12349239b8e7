package relay_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/relay"
)

// unread opens a stream of chat c in a row of many, on a connection that nobody reads, and
// publishes until the row had to give it back within a chunk.
func (f *fabric) unread(r *run) (conn net.Conn, rest []*observer) {
	f.t.Helper()
	rest = f.audience(r, many-1)
	conn, err := new(net.Dialer).DialContext(f.t.Context(), "tcp", strings.TrimPrefix(f.url, "http://"))
	require.NoError(f.t, err)
	f.t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, "GET /chat/live?chat_id=c HTTP/1.1\r\nHost: x\r\n\r\nGET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(f.t, err)
	f.watching(many)
	r.deltas(1)
	f.sitting(many)
	event := fmt.Sprintf(`{"type":"CUSTOM","name":"n","value":%q}`, long(15<<10))
	for f.relay.Sitting() == many {
		r.publish(event, event, event, event)
		for _, o := range rest {
			o.until(r.seq)
		}
	}
	return conn, rest
}

// wellFormed reads what a connection has: whole frames, each once and in order, in an answer
// that ends as it should. It gives the seq of the last, and whether that was the end.
func wellFormed(t *testing.T, br *bufio.Reader) (seq uint64, end bool) {
	t.Helper()
	resp, err := http.ReadResponse(br, nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(string(body), "\n\n"))
	first := true
	dec := consumer.NewDecoder(strings.NewReader(string(body)))
	for {
		msg, err := dec.Next()
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			return seq, end
		}
		if len(msg.Data) == 0 {
			continue
		}
		f, err := consumer.ParseFrame(msg.Data)
		require.NoError(t, err)
		switch f.Type {
		case consumer.Snapshot:
			require.True(t, first)
		case consumer.Event:
			require.Equal(t, seq+1, f.Seq)
		case consumer.End:
			end = true
		}
		first, seq = false, f.Seq
	}
}

// SLOW-01: what ends a stream that was given back within a chunk comes behind the whole chunk,
// and a request that waits on the connection is answered behind the answer.
func TestSLOW01_AChunkThatARowBrokeOffIsMadeWhole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		over  func(*fabric, *run)
		ended bool
	}{
		"end":   {over: func(_ *fabric, r *run) { r.deltas(3); r.finish(done) }, ended: true},
		"drain": {over: func(f *fabric, _ *run) { f.stop() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFabric(t, func(cfg *relay.Config) { cfg.WriteTimeout = patience })
			r := f.start("c")
			conn, rest := f.unread(r)
			c.over(f, r)
			br := bufio.NewReader(conn)
			seq, end := wellFormed(t, br)
			require.Equal(t, c.ended, end)
			if !c.ended {
				return
			}
			require.Equal(t, r.seq, seq)
			resp, err := http.ReadResponse(br, nil)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, http.StatusOK, resp.StatusCode)
			for _, o := range rest {
				o.toEnd()
			}
		})
	}
}

// CLIENT-01: one that goes away within a chunk takes nothing from the others.
func TestWhoLeavesARowWithinAChunkIsForgotten(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(cfg *relay.Config) { cfg.WriteTimeout = patience })
	r := f.start("c")
	conn, rest := f.unread(r)
	require.NoError(t, conn.Close())
	f.watching(many - 1)
	r.deltas(5)
	r.finish(done)
	for _, o := range rest {
		o.toEnd()
	}
	require.Eventually(t, func() bool { return f.relay.Leftovers() == "" }, patience, time.Millisecond)
}

// BROKER-01: those in rows miss nothing while the broker is restarted, and sit down again.
func TestRowsOutliveTheBroker(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	r := f.start("c")
	all := f.audience(r, 3*many)
	for range 2 {
		require.NoError(t, f.broker.Restart())
		require.Eventually(t, func() bool { return f.store.Conn().IsConnected() }, patience, time.Millisecond)
		r.deltas(3)
		for _, o := range all {
			o.until(r.seq)
		}
		r.deltas(1)
		for _, o := range all {
			o.until(r.seq)
		}
		f.sitting(3 * many)
	}
	r.finish(done)
	for _, o := range all {
		o.toEnd()
		require.Equal(t, 1, o.snapshots)
	}
}
