package relay_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/killswitch"
	"github.com/rejoin/rejoin/relay"
)

// Age, drain, expiry and the switch end a shared stream as they end any other: between
// messages, all of its chats at once, with the time to come back.
func TestASharedStreamLeavesByAge(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *relay.Config) { c.MaxStreamAge = 4 * time.Second })
	r := f.start("c")
	r.deltas(2)
	m := f.many("idle", "c")
	m.have(1, r, 2)
	m.rest()
	require.Equal(t, 1, m.chats[0].idle)
	f.eventually(`rejoin_streams_closed_total{cause="age"}`, 1)
	f.watching(0)
}

func TestASharedStreamOfIdleChatsIsKeptAlive(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *relay.Config) { c.KeepAlive, c.MaxStreamAge = 5*time.Millisecond, 3*time.Second })
	m := f.many("a", "b")
	m.rest()
	require.Greater(t, m.sse.Comments(), uint64(2), "besides the first")
	require.Equal(t, []int{1, 1}, []int{m.chats[0].idle, m.chats[1].idle})
}

func TestOPS01_DrainWithASharedStream(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	r := f.start("c")
	r.deltas(2)
	m, idle := f.many("idle", "c"), f.many("idle")
	m.have(1, r, 2)
	idle.until(func() bool { return idle.chats[0].idle == 1 })
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { // it never falls silent
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				r.deltas(1)
			}
		}
	}()
	f.relay.Drain()
	m.rest()
	idle.rest()
	close(stop)
	<-stopped
	require.Equal(t, text(m.chats[1].view.seq), m.chats[1].view.text)
	a := f.do(http.MethodPost, "/chats/live", sharedBody(named("c")...))
	require.Equal(t, http.StatusServiceUnavailable, a.status)
	require.Equal(t, "unavailable", a.problem(t).Code)
	f.eventually(`rejoin_streams_closed_total{cause="drain"}`, 2)
	f.stop()
	f.drained()
}

func TestASharedStreamEndsWithItsCredential(t *testing.T) {
	t.Parallel()
	callers := &passing{life: 2 * time.Second}
	f := newFabric(t, func(c *relay.Config) { c.Auth = callers })
	m := f.manyFrom(named("a", "b"), as(ann)...)
	m.rest()
	callers.life = 0
	m = f.manyFrom(named("a", "b"), as(ann)...)
	m.until(func() bool { return m.chats[0].idle == 1 && m.chats[1].idle == 1 })
	callers.gone.Store(true)
	m.rest()
	f.eventually(`rejoin_streams_closed_total{cause="expired"}`, 2)
	require.Equal(t, http.StatusUnauthorized, f.do(http.MethodPost, "/chats/live", sharedBody(named("a")...), as("expired")...).status)
}

// One chat that is off ends the stream. Who comes back is told which it is, and watches the
// others without it.
func TestASharedStreamOfWhatIsSwitchedOff(t *testing.T) {
	t.Parallel()
	f := newFabric(t, switched(t, nil))
	var chats []string
	off, on := -1, -1
	for i := 0; off < 0 || on < 0; i++ {
		chat := fmt.Sprint("chat", i)
		chats = append(chats, chat)
		if killswitch.Off("", chat, 50) {
			off = i
		} else {
			on = i
		}
	}
	m := f.many(chats...)
	other := f.many(chats[on])
	other.until(func() bool { return other.chats[0].idle == 1 })
	f.flip(`{"percent":50}`)
	m.rest()
	f.off(f.inForce(http.StatusServiceUnavailable, fmt.Sprintf(`{"chat_id":%q,"protocol":1}`, chats[off])))
	a := f.do(http.MethodPost, "/chats/live", sharedBody(named(chats...)...))
	f.off(a)
	var p struct{ Chats []int }
	require.NoError(t, json.Unmarshal([]byte(a.body), &p))
	var rest []string
	for i, chat := range chats {
		require.Equal(t, killswitch.Off("", chat, 50), slices.Contains(p.Chats, i), chat)
		if !slices.Contains(p.Chats, i) {
			rest = append(rest, chat)
		}
	}
	m = f.many(rest...)
	r := f.start(chats[on])
	r.deltas(1)
	other.have(0, r, 1) // has not noticed
	m.until(func() bool { return m.chats[len(rest)-1].idle == 1 || m.chats[0].idle == 1 })
	f.eventually(`rejoin_streams_closed_total{cause="switched_off"}`, 1)
}

// Each chat counts as a stream: of the relay's, and of its owner's.
func TestChatsOfASharedStreamCount(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *relay.Config) {
		c.Auth, c.MaxObservers, c.Limits.OwnerObservers = tokens{}, 5, 3
	})
	ask := func(who string, chats ...string) int {
		return f.do(http.MethodPost, "/chats/live", sharedBody(named(chats...)...), as(who)...).status
	}
	require.Equal(t, http.StatusTooManyRequests, ask(ann, "1", "2", "3", "4"))
	require.Equal(t, http.StatusServiceUnavailable, ask(ann, "1", "2", "3", "4", "5", "6"))
	m := f.manyFrom(named("1", "2", "3"), as(ann)...)
	require.Equal(t, http.StatusTooManyRequests, ask(ann, "1"))
	n := f.manyFrom(named("1", "2"), as(bob)...)
	require.Equal(t, http.StatusServiceUnavailable, ask(bob, "1"))
	require.Equal(t, http.StatusServiceUnavailable, f.do(http.MethodPost, "/chat/live", `{"chat_id":"c","protocol":1}`, as(bob)...).status)
	f.watching(5)
	m.close()
	f.watching(2)
	m = f.manyFrom(named("1", "2", "3"), as(ann)...)
	n.close()
	m.close()
	f.watching(0)
}

// A run that has as many observers as it may have is given once there is room; the other chats
// do not wait for it.
func TestASharedStreamWaitsForARunThatIsFull(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *relay.Config) { c.Limits.RunObservers = 1 })
	full, free := f.start("full"), f.start("free")
	full.deltas(2)
	o := f.live(`{"chat_id":"full","protocol":1}`)
	o.until(2)
	m := f.many("full", "free")
	f.eventually(`rejoin_observers_refused_total{why="run"}`, 1)
	free.deltas(3)
	m.have(1, free, 3)
	require.Nil(t, m.chats[0].view)
	o.close()
	m.have(0, full, 2)
	full.deltas(1)
	m.have(0, full, 3)
	full.finish(done)
	m.ends(0, full)
	next := f.start("full") // its place is its own
	next.deltas(1)
	m.have(0, next, 1)
}

// SLOW-02: who stops reading is cut off, and all that its chats held is free.
func TestSLOW02_AStalledSharedStreamIsCutOff(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *relay.Config) { c.WriteTimeout = 3 * time.Second }) // more than who reads may be held up
	before := f.store.Conn().NumSubscriptions()
	a, b := f.start("a"), f.start("b")
	f.narrow.Add(1)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(f.url, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
	body := sharedBody(named("a", "b", "idle")...)
	_, err = fmt.Fprintf(conn, "POST /chats/live HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	require.NoError(t, err)
	f.watching(3)
	healthy := f.live(`{"chat_id":"b","protocol":1}`)
	for i := range 40 {
		a.publish(big(i))
		b.publish(big(i))
		healthy.until(b.seq)
	}
	f.eventually(`rejoin_streams_closed_total{cause="stalled"}`, 1)
	f.watching(1)
	f.eventually("rejoin_tails", 1)
	healthy.close()
	f.watching(0)
	require.Eventually(t, func() bool { return f.store.Conn().NumSubscriptions() <= before+3 }, patience, time.Millisecond,
		"two tails are kept for a while, and there is one for the answers to questions")
	require.Contains(t, f.logs.String(), "cause=stalled")
}
