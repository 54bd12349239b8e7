package relay_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/relay"
)

// many is more than watch one by one.
const many = 9

// sitting waits until so many observers sit in rows.
func (f *fabric) sitting(n int) {
	f.t.Helper()
	require.Eventually(f.t, func() bool { return f.relay.Sitting() == n }, patience, time.Millisecond,
		"%d should sit in rows", n)
}

// audience opens n streams of chat c, most of which come to sit in rows: those that came
// when there were few still sit alone until something wakes them.
func (f *fabric) audience(r *run, n int) []*observer {
	f.t.Helper()
	var all []*observer
	for range n {
		all = append(all, f.live(`{"chat_id":"c","protocol":1}`))
	}
	f.watching(float64(n))
	r.deltas(1)
	for _, o := range all {
		o.until(r.seq)
	}
	f.sitting(n)
	return all
}

// Of whatever size the events are, one by one or many in a record, everybody has each of
// them once, and the end last.
func TestManyObserversOfOneRunAreExact(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	r := f.start("c")
	all := f.audience(r, many)
	for i := range 15 {
		switch i % 5 {
		case 0:
			r.deltas(7)
		case 1:
			r.publish(big(i))
		case 2:
			r.publish(delta(r.seq+1), big(i), delta(r.seq+3), "{\"type\":\"CUSTOM\",\r\"name\":\"n\"}")
		case 3:
			r.publish(fmt.Sprintf(`{"type":"CUSTOM","name":"n","value":%q}`, long(20<<10)), delta(r.seq+2))
		case 4: // somebody comes, and somebody goes
			all[0].close()
			all = append(all[1:], f.open(http.MethodGet, "/chat/live?chat_id=c", "", "Last-Event-ID", fmt.Sprintf("%s:%d", r.id(), r.seq-3)))
			all[len(all)-1].seq = r.seq - 3
		}
		for _, o := range all {
			o.until(r.seq)
		}
	}
	f.sitting(many)
	r.finish(done)
	for _, o := range all {
		o.toEnd()
		require.LessOrEqual(t, o.snapshots, 1)
	}
	f.watching(0)
	f.eventually(`rejoin_streams_closed_total{cause="end"}`, many)
	require.Regexp(t, fmt.Sprintf(`cause=end frames=%d from=0 to=%d`, r.seq+2, r.seq), f.logs.String())
	require.Empty(t, f.relay.Leftovers())
}

// SLOW-02: in a row, too, one that does not read is cut off, and nobody waits for it.
func TestSLOW02_StalledInARow(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *relay.Config) { c.WriteTimeout = 3 * time.Second }) // more than who reads may be held up
	r := f.start("c")
	all := f.audience(r, many-1)
	f.stall("c")
	f.sitting(many)
	event := fmt.Sprintf(`{"type":"CUSTOM","name":"n","value":%q}`, long(15<<10))
	// Who reads may be out of the row for a moment, too: that does not say that the sockets
	// of the one that does not take no more.
	for f.number(`rejoin_streams_closed_total{cause="stalled"}`) == 0 {
		r.publish(event, event, event, event)
		for _, o := range all {
			o.until(r.seq)
		}
	}
	f.watching(many - 1)
	r.finish(done)
	for _, o := range all {
		o.toEnd()
	}
}

// SLOW-01: one that pauses is given the rest of what it did not take, then what it missed,
// and sits down again.
func TestSLOW01_WhoPausesInARowMissesNothing(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *relay.Config) { c.WriteTimeout = patience })
	r := f.start("c")
	all := f.audience(r, many)
	slow, rest := all[0], all[1:]
	event := fmt.Sprintf(`{"type":"CUSTOM","name":"n","value":%q}`, long(15<<10))
	for f.relay.Sitting() == many {
		r.publish(event, event, event, event)
		for _, o := range rest {
			o.until(r.seq)
		}
	}
	r.deltas(20)
	slow.until(r.seq)
	f.sitting(many)
	r.finish(done)
	for _, o := range all {
		o.toEnd()
		require.Equal(t, 1, o.snapshots)
	}
}

// PROXY-02: silence is filled in a row, too.
func TestPROXY02_SilenceInARowIsFilled(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *relay.Config) { c.KeepAlive = 5 * time.Millisecond })
	r := f.start("c")
	var all []*lines
	for range many {
		l := f.lines(`{"chat_id":"c","protocol":1}`)
		for !strings.Contains(l.next(), "STREAM_SNAPSHOT") {
		}
		all = append(all, l) // what is published from now on comes as an event
	}
	r.deltas(1)
	f.sitting(many)
	for _, l := range all {
		for !strings.Contains(l.next(), "STREAM_EVENT") {
		}
		for range 20 {
			require.Equal(t, ":", l.next())
		}
	}
	r.deltas(1)
	for _, l := range all {
		line := l.next()
		for line == ":" {
			line = l.next()
		}
		require.Contains(t, line, "id: ")
	}
}

// Those in a row are told to leave as everybody is.
func TestADrainEmptiesRows(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	r := f.start("c")
	all := f.audience(r, many)
	f.stop()
	f.drained()
	for _, o := range all {
		o.closed()
	}
	require.Empty(t, f.relay.Leftovers())
}

// An answer around net/http ends as net/http ends one, and the connection goes on.
func TestAConnectionGoesOnBehindAStream(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	r := f.start("c")
	r.deltas(3)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(f.url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	br := bufio.NewReader(conn)
	r.finish(failed)
	for range 3 {
		_, err := fmt.Fprintf(conn, "GET /chat/live?chat_id=c HTTP/1.1\r\nHost: x\r\n\r\n")
		require.NoError(t, err)
		resp, err := http.ReadResponse(br, nil)
		require.NoError(t, err)
		var body strings.Builder
		_, err = bufio.NewReader(resp.Body).WriteTo(&body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Contains(t, body.String(), "STREAM_END")
		require.Equal(t, []string{"chunked"}, resp.TransferEncoding)
	}
	// HTTP/1.0 knows no chunks.
	_, err = fmt.Fprintf(conn, "GET /chat/live?chat_id=c HTTP/1.0\r\n\r\n")
	require.NoError(t, err)
	resp, err := http.ReadResponse(br, nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	var body strings.Builder
	_, err = bufio.NewReader(resp.Body).WriteTo(&body)
	require.NoError(t, err)
	require.Empty(t, resp.TransferEncoding)
	require.True(t, strings.HasPrefix(body.String(), ":\n\n"), body.String())
	require.Contains(t, body.String(), "STREAM_END")
}
