package tabs_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/test/harness"
)

// leave sends a request, reads so many lines of the answer, and is gone.
func (r *rig) leave(request string, lines int) {
	r.Helper()
	conn, err := new(net.Dialer).DialContext(r.within(), "tcp", strings.TrimPrefix(r.relays[0].URL, "http://"))
	require.NoError(r, err)
	defer conn.Close()
	_, err = conn.Write([]byte(request))
	require.NoError(r, err)
	b := make([]byte, 1)
	for lines > 0 {
		_, err = conn.Read(b)
		require.NoError(r, err)
		if b[0] == '\n' {
			lines--
		}
	}
}

func post(path, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
}

// TAB-02: tabs that are hidden, frozen and shown again ask for the stream over and over and
// leave at any moment of it. Nothing is started by that, nothing is stopped, nothing stays
// behind; whoever stays has every word once.
func TestTAB02_WatchingChangesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, relay.Config{})
	c := r.plain()
	open := r.hold("held")
	id := r.send(c, "c", "held")
	first := r.open(c, 0, http.MethodPost, "/chat/live", harness.Live("c"))
	at := r.half(first, "held").Seq
	first.close()
	harness.Eventually(t, "nobody watches", r.nobody)
	nc := r.relays[0].NC
	before := nc.NumSubscriptions()
	controls := func() []runs.Control {
		all, err := r.relays[1].Store.Controls(t.Context(), id, 0)
		require.NoError(t, err)
		return all
	}
	sent := controls()

	live := post("/chat/live", harness.Live("c"))
	cursor := fmt.Sprintf("GET /chat/live?chat_id=c HTTP/1.1\r\nHost: x\r\nLast-Event-ID: %s:%d\r\n\r\n", id, at/2)
	for i := range 50 {
		r.leave(live[:len(live)-i%20], 0) // before it has asked, and just when it has
		r.leave(live, i%12)               // in the header, and in the first frames
		r.leave(cursor, i%16)
		r.leave(post("/chat/live", harness.Live("idle", "wait_ms", 30000)), 0)
		r.leave("GET /runs/active HTTP/1.1\r\nHost: x\r\n\r\n", i%9)
	}
	harness.Eventually(t, "nobody watches", r.nobody)
	require.Equal(t, "running", r.do(c, 1, http.MethodGet, "/runs/"+string(id), "").State)
	require.Equal(t, sent, controls())
	var entries int
	require.NoError(t, r.relays[1].Store.EachEntryAndPointer(t.Context(), func(c runs.Change) {
		if c.Entry != nil {
			entries++
		}
	}))
	require.Equal(t, 1, entries)

	posted := r.open(c, 0, http.MethodPost, "/chat/live", harness.Live("c"))
	resumed := r.open(c, 0, http.MethodGet, "/chat/live?chat_id=c", "", "Last-Event-ID", fmt.Sprintf("%s:%d", id, at))
	open()
	seen, err := harness.See(r.within(), posted, nil)
	require.NoError(t, err)
	require.Equal(t, answerTo("held"), text(seen.Events...))
	rest, err := harness.See(r.within(), resumed, nil)
	require.NoError(t, err)
	require.Equal(t, strings.TrimPrefix(answerTo("held"), halfOf("held")), text(rest.Events...))
	require.Equal(t, seen.Seq, rest.Seq)
	harness.Eventually(t, "no subscription is left", func() bool { return nc.NumSubscriptions() <= before+feedSubscriptions })
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Equal(t, map[string]int{"held": 1}, r.begun)
}

// feedSubscriptions is what the feed listens to; it goes on for a while after its last
// subscriber has left.
const feedSubscriptions = 2

func (r *rig) nobody() bool {
	a := r.relays[0]
	return a.Number("rejoin_observers") == 0 && a.Number("rejoin_waiters") == 0 && a.Number("rejoin_tails") == 0
}
