package relay_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
)

// shared is a shared stream, read as a client reads it.
type shared struct {
	*observer
	chats []*place
}

// place is one of its chats.
type place struct {
	name  string
	run   string
	view  *observer // of that run; nil before there is any
	ended []string  // runs, in order
	idle  int       // how often it was told to be so
}

// cursor is what a client asks for: a chat, and where it stands.
type cursor struct {
	ChatID   string  `json:"chat_id"`
	RunID    string  `json:"run_id,omitempty"`
	AfterSeq *uint64 `json:"after_seq,omitempty"`
}

func sharedBody(chats ...cursor) string {
	raw, err := json.Marshal(map[string]any{"protocol": 1, "chats": chats})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func named(chats ...string) (all []cursor) {
	for _, c := range chats {
		all = append(all, cursor{ChatID: c})
	}
	return all
}

// many opens a shared stream of chats without cursors.
func (f *fabric) many(chats ...string) *shared {
	f.t.Helper()
	return f.manyFrom(named(chats...))
}

func (f *fabric) manyFrom(chats []cursor, header ...string) *shared {
	f.t.Helper()
	m := &shared{observer: f.open(http.MethodPost, "/chats/live", sharedBody(chats...), header...)}
	for _, c := range chats {
		p := &place{name: c.ChatID}
		if c.AfterSeq != nil {
			p.run, p.view = c.RunID, &observer{t: f.t, seq: *c.AfterSeq, text: text(*c.AfterSeq)}
		}
		m.chats = append(m.chats, p)
	}
	return m
}

// step takes one message; it says false at the end of the stream, which is between two.
func (m *shared) step() bool {
	m.t.Helper()
	msg, err := m.sse.Next()
	if err != nil {
		require.EqualError(m.t, err, "EOF")
		return false
	}
	m.takeFor(msg)
	return true
}

func (m *shared) takeFor(msg consumer.Message) {
	m.t.Helper()
	n, err := strconv.Atoi(msg.Event)
	require.NoError(m.t, err)
	p := m.chats[n]
	if string(msg.Data) == `{"type":"STREAM_IDLE"}` {
		p.idle++
		return
	}
	f, err := consumer.ParseFrame(msg.Data)
	require.NoError(m.t, err, "%s", msg.Data)
	require.Equal(m.t, fmt.Sprintf("%s:%d", f.RunID, f.Seq), msg.ID)
	if string(f.RunID) != p.run {
		require.Equal(m.t, consumer.Snapshot, f.Type, "another run begins with a snapshot")
		p.run, p.view = string(f.RunID), &observer{t: m.t}
	}
	p.view.apply(f)
	if f.Type == consumer.End {
		p.ended = append(p.ended, p.run)
	}
}

// until reads on until it is so.
func (m *shared) until(so func() bool) {
	m.t.Helper()
	for !so() {
		require.True(m.t, m.step(), "the stream has ended")
	}
}

// have reads until the chat's run is at seq.
func (m *shared) have(n int, r *run, seq uint64) {
	m.t.Helper()
	m.until(func() bool { return m.chats[n].run == r.id() && m.chats[n].view.seq >= seq })
	require.Equal(m.t, text(seq), m.chats[n].view.text)
}

// ends reads until the chat's run has ended.
func (m *shared) ends(n int, r *run) {
	m.t.Helper()
	p := m.chats[n]
	m.until(func() bool { return len(p.ended) > 0 && p.ended[len(p.ended)-1] == r.id() })
	require.Equal(m.t, text(r.seq), p.view.text)
}

// rest reads to the end of a stream that was told to leave.
func (m *shared) rest() {
	m.t.Helper()
	for m.step() {
	}
	require.Positive(m.t, m.sse.Retry())
}

// cursors are where the chats stand.
func (m *shared) cursors() (all []cursor) {
	for _, p := range m.chats {
		c := cursor{ChatID: p.name, RunID: p.run}
		if p.view != nil {
			c.AfterSeq = &p.view.seq
		}
		all = append(all, c)
	}
	return all
}

func names(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("chat %d %s", i, strings.Repeat("\x01", i)))
	}
	return all
}

// breakable serves the relay so that all of its connections can be broken at once.
func (f *fabric) breakable() (kill func()) {
	f.t.Helper()
	server := httptest.NewServer(f.relay.Handler())
	f.t.Cleanup(server.Close)
	f.url, f.client = server.URL, server.Client()
	return server.CloseClientConnections
}
