package relay_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/relay"
)

// stall opens a stream on a socket that takes little, and never reads from it. Lines of
// more header end with a line break.
func (f *fabric) stall(chat string, header ...string) {
	f.t.Helper()
	f.narrow.Add(1)
	conn, err := new(net.Dialer).DialContext(f.t.Context(), "tcp", strings.TrimPrefix(f.url, "http://"))
	require.NoError(f.t, err)
	f.t.Cleanup(func() { conn.Close() })
	require.NoError(f.t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
	body := fmt.Sprintf(`{"chat_id":%q,"protocol":1}`, chat)
	_, err = fmt.Fprintf(conn, "POST /chat/live HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s", strings.Join(header, ""), len(body), body)
	require.NoError(f.t, err)
}

func big(i int) string {
	return fmt.Sprintf(`{"type":"CUSTOM","name":"big","value":"%d%s"}`, i, long(200<<10))
}

// SLOW-02 (a): a client that keeps its socket and stops reading is cut off, and
// what it held is free; a reader of the same run notices nothing.
func TestSLOW02_StalledObserverIsCutOff(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *relay.Config) { c.WriteTimeout = 3 * time.Second }) // more than who reads may be held up
	r := f.start("c")
	f.stall("c")
	f.watching(1)
	o := f.live(`{"chat_id":"c","protocol":1}`)
	for i := range 50 {
		r.publish(big(i))
		o.until(r.seq)
	}
	f.eventually(`rejoin_streams_closed_total{cause="stalled"}`, 1)
	f.watching(1)
	r.finish(done)
	o.toEnd()
	require.Equal(t, 1, o.snapshots)
	require.Contains(t, f.logs.String(), "cause=stalled")
}

// The same in the middle of one large frame.
func TestSLOW02_StalledWithinASnapshot(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *relay.Config) { c.WriteTimeout = time.Second })
	r := f.start("c")
	for i := range 50 {
		r.publish(big(i))
	}
	f.stall("c")
	f.eventually(`rejoin_streams_closed_total{cause="stalled"}`, 1)
	f.watching(0)
}

func h2(f *fabric) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	f.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// SLOW-02 (c): on one HTTP/2 connection a stream that is not read starves none of
// its siblings, and is cut off.
func TestSLOW02_StalledStreamOnASharedConnection(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *relay.Config) { c.WriteTimeout = 3 * time.Second }) // more than who reads may be held up
	f.client = h2(f)
	r := f.start("c")
	stalled := f.live(`{"chat_id":"c","protocol":1}`)
	require.Equal(t, 2, stalled.resp.ProtoMajor)
	var siblings []*observer
	for range 5 {
		siblings = append(siblings, f.live(`{"chat_id":"c","protocol":1}`))
	}
	for i := range 40 { // twice what a stream may have in flight
		r.publish(big(i))
		for _, o := range siblings {
			o.until(r.seq)
		}
	}
	f.watching(5)
	r.finish(done)
	for _, o := range siblings {
		o.toEnd()
	}
	f.watching(0)
}

// An idle stream is not taken for a stalled one, though its deadlines have passed.
func TestIdleStreamOutlivesTheWriteTimeout(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *relay.Config) {
		c.WriteTimeout = time.Second
		c.KeepAlive = 1200 * time.Millisecond
	})
	for _, client := range []*http.Client{f.client, h2(f)} {
		f.client = client
		r := f.start("c")
		l := f.lines(`{"chat_id":"c","protocol":1}`)
		require.Equal(t, ":", l.next())
		require.Contains(t, l.next(), "id: ")
		require.Contains(t, l.next(), "STREAM_SNAPSHOT")
		require.Equal(t, ":", l.next(), "sent when the deadline before it had passed")
		r.deltas(1)
		require.Contains(t, l.next(), "id: ")
		require.Contains(t, l.next(), "STREAM_EVENT")
	}
}
