package relay_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/subjects"
)

// Several chats on one stream, each exact and complete while their producers are at work.
func TestChatsShareAStream(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	chats := names(8)
	var live []*run
	for i, c := range chats {
		live = append(live, f.start(c))
		live[i].deltas(i)
	}
	m := f.many(chats...)
	require.Equal(t, "text/event-stream", m.resp.Header.Get("Content-Type"))
	require.Equal(t, "no-store, no-transform", m.resp.Header.Get("Cache-Control"))
	require.NotContains(t, m.resp.Header, "Rejoin-Run-Id")
	f.watching(8)
	var work sync.WaitGroup
	for _, r := range live {
		work.Go(func() {
			r.deltas(50)
			r.finish(done)
		})
	}
	for n, r := range live {
		m.until(func() bool { return len(m.chats[n].ended) == 1 })
		require.Equal(t, r.id(), m.chats[n].ended[0])
	}
	work.Wait()
	for n, r := range live {
		require.Equal(t, text(r.seq), m.chats[n].view.text)
		require.Equal(t, 1, m.chats[n].view.snapshots)
		require.Zero(t, m.chats[n].idle)
	}
	require.Equal(t, 1.0, f.number(`rejoin_streams_opened_total{wire="shared"}`))
	m.close()
	f.eventually(`rejoin_streams_closed_total{cause="client"}`, 1)
	f.watching(0)
	require.Contains(t, f.logs.String(), "chats=8")
}

// The bytes of a message are those of /chat/live, and one line more.
func TestAMessageOfASharedStream(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *relay.Config) { c.MaxStreamAge = 5 * time.Second })
	r := f.start("c")
	r.deltas(2)
	r.publish(fmt.Sprintf(`{"type":"RAW","event":%q}`, long(300<<10))) // more than one write
	r.finish(done)
	alone := f.do(http.MethodPost, "/chat/live", `{"chat_id":"c","protocol":1,"synced":true}`).body
	alone = strings.ReplaceAll(strings.TrimPrefix(alone, ":\n\n"), "id: ", "event: 1\nid: ")
	shared := f.do(http.MethodPost, "/chats/live", `{"protocol":1,"chats":[{"chat_id":"idle"},{"chat_id":"c"}],"synced":true}`).body
	require.True(t, strings.HasPrefix(shared, ":\n\n"), "it begins with a comment")
	require.Contains(t, shared, "event: 0\ndata: {\"type\":\"STREAM_IDLE\"}\n\n")
	require.Contains(t, shared, alone)
}

// An idle chat is told to be so once, and what comes is given, however short, and what comes
// after it.
func TestAnIdleChatOfASharedStream(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	saved := f.start("b")
	saved.deltas(1)
	saved.finish(done)
	m := f.many("a", "b")
	m.until(func() bool { return m.chats[0].idle == 1 && m.chats[1].idle == 1 })
	var came []string
	for i := range 20 {
		r := f.start("b")
		r.deltas(i % 3)
		r.finish([]subjects.End{done, failed}[i%2])
		came = append(came, r.id())
		m.ends(1, r)
	}
	require.Equal(t, came, m.chats[1].ended, "each once, saved or not")
	r := f.start("a")
	r.deltas(2)
	m.have(0, r, 2)
	r.deltas(1)
	m.have(0, r, 3)
	require.Equal(t, []int{1, 1}, []int{m.chats[0].idle, m.chats[1].idle})
}

// Who is superseded is followed, as far as it goes.
func TestASharedStreamFollowsWhoSupersedes(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	r := f.start("c")
	r.deltas(1)
	m := f.many("other", "c")
	m.have(1, r, 1)
	for range 5 {
		next := f.start("c")
		r.finish(subjects.End{Superseded: true, Reason: subjects.ReasonSuperseded, NextRunID: next.entry.RunID})
		next.deltas(3)
		m.ends(1, r)
		m.have(1, next, 3)
		r = next
	}
	require.Len(t, m.chats[1].ended, 5)
}

// A run that did not end saved is not shown again and again.
func TestASharedStreamShowsAnEndOnce(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	r := f.start("c")
	r.deltas(2)
	r.finish(failed)
	m := f.many("c")
	m.ends(0, r)
	next := f.start("c")
	next.deltas(1)
	m.have(0, next, 1)
	require.Equal(t, []string{r.id()}, m.chats[0].ended)
	require.Zero(t, m.chats[0].idle)
}

// Cut anywhere, and taken up with the cursors: nothing is lost, and nothing comes twice.
func TestASharedStreamResumes(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	chats := names(4)
	var live []*run
	for _, c := range chats {
		live = append(live, f.start(c))
		live[len(live)-1].deltas(1)
	}
	m := f.many(chats...)
	for n, r := range live {
		m.have(n, r, 1)
	}
	for round := range 6 {
		for i, r := range live {
			r.deltas(10 + i)
		}
		for range 7 * (round + 1) {
			m.step()
		}
		m.close()
		m = f.manyFrom(m.cursors())
	}
	for n, r := range live {
		if n == 0 {
			r.evictAfterEnd()
			continue
		}
		r.finish(done)
		m.ends(n, r)
		require.Zero(t, m.chats[n].view.snapshots)
	}
	// Of an ended run the cursor gives what came since, also where that is over by now.
	next := f.start(chats[1])
	next.deltas(2)
	next.finish(done)
	m.close()
	m = f.manyFrom(m.cursors())
	m.until(func() bool { return slices.Contains(m.chats[1].ended, next.id()) && m.chats[0].idle == 1 })
	for _, n := range []int{2, 3} {
		m.until(func() bool { return len(m.chats[n].ended) == 1 }) // its end again
	}
}

// evictAfterEnd has the run be gone for good.
func (r *run) evictAfterEnd() {
	r.f.t.Helper()
	r.finish(done)
	r.evict()
}

// A connection that breaks, as that of a relay that is killed, and the other relay.
func TestASharedStreamOfARelayThatIsKilled(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	g := f.beside(func(*relay.Config) {})
	chats := names(3)
	var live []*run
	for _, c := range chats {
		live = append(live, f.start(c))
		live[len(live)-1].deltas(20)
	}
	kill := f.breakable()
	m := f.many(chats...)
	for n, r := range live {
		m.have(n, r, 20)
	}
	kill()
	for {
		msg, err := m.sse.Next()
		if err != nil {
			break // however
		}
		m.takeFor(msg)
	}
	for _, r := range live {
		r.deltas(5)
	}
	again := g.manyFrom(m.cursors())
	for n, r := range live {
		r.finish(done)
		again.ends(n, r)
		require.Zero(t, again.chats[n].view.snapshots)
	}
}

// What is wrong with a request is named, and what is allowed.
func TestWhatASharedStreamIsNotOpenedFor(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	for body, words := range map[string][]string{
		`{"chats":[{"chat_id":"c"}]}`:                                              {"protocol", "1"},
		`{"protocol":1}`:                                                           {"chats has 0 entries", "1 to 64"},
		`{"protocol":1,"chats":[]}`:                                                {"chats has 0 entries", "1 to 64"},
		`{"protocol":1,"chats":{"chat_id":"c"}}`:                                   {"chats must be an array"},
		`{"protocol":1,"chats":["c"]}`:                                             {"chats[0]", "object"},
		`{"protocol":1,"chats":[{"chat_id":"c"},null]}`:                            {"chats[1]", "object"},
		`{"protocol":1,"chats":[{"chat_id":"c"},{}]}`:                              {"chats[1]", "chat_id", "1 to 256 bytes"},
		`{"protocol":1,"chats":[{"chat_id":7}]}`:                                   {"chats[0]", "chat_id", "a string"},
		`{"protocol":1,"chats":[{"chat_id":"` + long(257) + `"}]}`:                 {"chats[0]", "256"},
		`{"protocol":1,"chats":[{"chat_id":"a"},{"chat_id":"b"},{"chat_id":"a"}]}`: {"chats[2]", "chats[0]", "once"},
		`{"protocol":1,"chats":[{"chat_id":"c","run_id":5}]}`:                      {"chats[0]", "run_id"},
		`{"protocol":1,"chats":[{"chat_id":"c","run_id":"r","after_seq":-1}]}`:     {"chats[0]", "after_seq"},
		`{"protocol":1,"chats":[{"chat_id":"c","after_seq":9007199254740992}]}`:    {"chats[0]", "after_seq", "9007199254740991"},
		`{"protocol":1,"chats":[{"chat_id":"\ud800"}]}`:                            {"chats has", "Unicode"},
		`{"protocol":1,"synced":1,"chats":[{"chat_id":"c"}]}`:                      {"synced"},
		sharedBody(named(names(65)...)...):                                         {"chats has 65 entries", "1 to 64"},
		``:                                                                         {"empty"},
	} {
		a := f.do(http.MethodPost, "/chats/live", body)
		require.Equal(t, http.StatusBadRequest, a.status, "%.80s: %s", body, a.body)
		for _, w := range words {
			require.Contains(t, a.problem(t).Detail, w, "%.80s", body)
		}
	}
	require.Equal(t, "unsupported_protocol", f.do(http.MethodPost, "/chats/live", `{"protocol":2,"chats":[{"chat_id":"c"}]}`).problem(t).Code)
	require.Equal(t, http.StatusRequestEntityTooLarge, f.do(http.MethodPost, "/chats/live", strings.Repeat(" ", 128<<10+1)).status)
	require.Equal(t, http.StatusMethodNotAllowed, f.do(http.MethodGet, "/chats/live", "").status)
	f.watching(0)
}

// As many chats as one stream may have, of the longest names.
func TestASharedStreamOfAsManyAsThereMayBe(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	var chats []string
	for i := range 64 {
		chats = append(chats, fmt.Sprintf("%02d", i)+strings.Repeat("\x01", 254)) // six times as long as JSON
	}
	before := f.store.Conn().NumSubscriptions()
	m := f.many(chats...)
	for n := range chats {
		m.until(func() bool { return m.chats[n].idle == 1 })
	}
	f.watching(64)
	for _, n := range []int{63, 0, 31} {
		r := f.start(chats[n])
		r.deltas(3)
		r.finish(done)
		m.ends(n, r)
	}
	m.close()
	f.watching(0)
	require.Eventually(t, func() bool { return f.store.Conn().NumSubscriptions() <= before+4 }, patience, time.Millisecond,
		"three tails are kept for a while, and there is one for the answers to questions")
}

// A run that is gone in the midst of it is told as what is idle.
func TestASharedStreamOfARunThatIsGone(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	r := f.start("c")
	r.deltas(2)
	m := f.many("d", "c")
	m.have(1, r, 2)
	m.close()
	r.evictAfterEnd()
	m = f.manyFrom(m.cursors())
	m.until(func() bool { return m.chats[1].idle == 1 && m.chats[0].idle == 1 })
	next := f.start("c")
	next.deltas(1)
	m.have(1, next, 1)
}

// While the broker is away the stream stays, and goes on where it was; but not for ever.
func TestASharedStreamOutlivesABrokersRestart(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *relay.Config) { c.KeepAlive = 5 * time.Millisecond })
	r := f.start("c")
	r.deltas(2)
	m := f.many("idle", "c")
	m.have(1, r, 2)
	m.until(func() bool { return m.chats[0].idle == 1 })
	f.broker.Stop()
	require.Eventually(t, func() bool { return !f.store.Conn().IsConnected() }, patience, time.Millisecond)
	require.NoError(t, f.broker.Restart())
	require.Eventually(t, func() bool { return f.store.Ping(t.Context()) == nil }, patience, time.Millisecond)
	r.deltas(2)
	m.have(1, r, 4)
	other := f.start("idle")
	other.deltas(1)
	m.have(0, other, 1)
	require.Equal(t, 1, m.chats[1].view.snapshots)

	g := newFabric(t, func(c *relay.Config) { c.BrokerPatience = 200 * time.Millisecond })
	m = g.many("idle")
	m.until(func() bool { return m.chats[0].idle == 1 })
	g.broker.Stop()
	m.rest()
	g.eventually(`rejoin_streams_closed_total{cause="broker"}`, 1)
}

// A chat of somebody else's is exactly one that has no run.
func TestASharedStreamShowsNobodyElsesChats(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *relay.Config) { c.Auth = tokens{} })
	theirs := f.startOf("bob", "secret")
	zero := uint64(0)
	for i, c := range []cursor{{ChatID: "secret"}, {ChatID: "secret", RunID: theirs.id(), AfterSeq: &zero}, {ChatID: "nothing"},
		{ChatID: "nothing", RunID: theirs.id(), AfterSeq: &zero}} {
		o := f.open(http.MethodPost, "/chats/live", sharedBody(c), as(fmt.Sprintf("t/ann%d/observer", i))...)
		begins := make([]byte, len(":\n\nevent: 0\ndata: {\"type\":\"STREAM_IDLE\"}\n\n"))
		_, err := io.ReadFull(o.resp.Body, begins)
		require.NoError(t, err)
		require.Equal(t, ":\n\nevent: 0\ndata: {\"type\":\"STREAM_IDLE\"}\n\n", string(begins))
		theirs.deltas(1) // is nothing to others
		own := f.startOf(fmt.Sprint("ann", i), c.ChatID)
		own.deltas(1)
		m, err := consumer.NewDecoder(o.resp.Body).Next()
		require.NoError(t, err)
		require.Contains(t, string(m.Data), own.id())
		own.finish(done)
	}
	for _, who := range []string{"t/ann/producer", "t/ann/admin"} {
		require.Equal(t, http.StatusForbidden, f.do(http.MethodPost, "/chats/live", sharedBody(named("c")...), as(who)...).status)
	}
}
