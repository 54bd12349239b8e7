package relay_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/active"
	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/subjects"
)

// newFeed is a fabric whose relay tells which runs are live.
func newFeed(t *testing.T, cfg active.Config, change func(*relay.Config)) *fabric {
	t.Helper()
	return newFabric(t, func(c *relay.Config) {
		cfg.Store = c.Store
		c.Active = active.New(cfg)
		t.Cleanup(c.Active.Close)
		if change != nil {
			change(c)
		}
	})
}

// liveRun is a run as the feed shows it.
type liveRun struct {
	RunID      string          `json:"run_id"`
	ChatID     string          `json:"chat_id"`
	Kind       string          `json:"kind"`
	State      runs.State      `json:"state"`
	StartedAt  time.Time       `json:"started_at"`
	Reason     subjects.Reason `json:"reason"`
	Persisted  *bool           `json:"persisted"`
	Superseded *bool           `json:"superseded"`
	NextRunID  string          `json:"next_run_id"`
}

type liveRuns struct {
	Runs      []liveRun `json:"runs"`
	Truncated bool      `json:"truncated"`
}

// feed opens the stream of live runs and takes its snapshot.
func (f *fabric) feed(header ...string) (*observer, liveRuns) {
	f.t.Helper()
	o := f.open(http.MethodGet, "/runs/active", "", header...)
	m, err := o.sse.Next()
	require.NoError(f.t, err)
	require.Equal(f.t, "snapshot", m.Event)
	var all liveRuns
	require.NoError(f.t, json.Unmarshal(m.Data, &all))
	return o, all
}

// changed wants the next change to be of that run and to that state.
func (o *observer) changed(id string, state runs.State) liveRun {
	o.t.Helper()
	m, err := o.sse.Next()
	require.NoError(o.t, err)
	require.Equal(o.t, "run", m.Event)
	require.Empty(o.t, m.ID)
	var r liveRun
	require.NoError(o.t, json.Unmarshal(m.Data, &r))
	require.Equal(o.t, id, r.RunID)
	require.Equal(o.t, state, r.State)
	return r
}

// active asks for one answer.
func (f *fabric) active(header ...string) (all liveRuns) {
	f.t.Helper()
	a := f.do(http.MethodGet, "/runs/active", "", append(header, "Accept", "application/json")...)
	require.Equal(f.t, http.StatusOK, a.status, a.body)
	require.Equal(f.t, "application/json", a.header.Get("Content-Type"))
	require.Equal(f.t, "no-store", a.header.Get("Cache-Control"))
	require.Equal(f.t, "Accept", a.header.Get("Vary"))
	require.NoError(f.t, json.Unmarshal([]byte(a.body), &all))
	return all
}

func TestWhichChatsAreLive(t *testing.T) {
	t.Parallel()
	f := newFeed(t, active.Config{}, nil)
	require.Equal(t, `{"runs":[]}`+"\n", f.do(http.MethodGet, "/runs/active", "", "Accept", "application/json").body)
	first := f.start("line\nbreak")
	require.Eventually(t, func() bool { return len(f.active().Runs) == 1 }, patience, time.Millisecond, "told a moment after it was stored")
	o, all := f.feed()
	require.Equal(t, "text/event-stream", o.resp.Header.Get("Content-Type"))
	require.Equal(t, "no-store, no-transform", o.resp.Header.Get("Cache-Control"))
	require.NotContains(t, o.resp.Header, "Rejoin-Run-Id")
	require.Equal(t, all, f.active())
	require.False(t, all.Truncated)
	require.Len(t, all.Runs, 1)
	require.Equal(t, liveRun{RunID: first.id(), ChatID: "line\nbreak", Kind: "send", State: runs.StateRunning,
		StartedAt: first.entry.StartedAt}, all.Runs[0])

	first.publish(runStarted) // no output of a run is told of here
	first.finish(failed)
	ended := o.changed(first.id(), runs.StateEnded)
	require.Equal(t, failed.Reason, ended.Reason)
	require.False(t, *ended.Persisted)
	require.False(t, *ended.Superseded)
	second := f.start("c")
	o.changed(second.id(), runs.StateRunning)
	require.Equal(t, second.id(), f.active().Runs[0].RunID)
	second.finish(done)
	o.changed(second.id(), runs.StateEnded)
	require.Empty(t, f.active().Runs)
	o.close()
	f.eventually(`rejoin_streams_closed_total{cause="client"}`, 1)
	require.Equal(t, 1.0, f.number(`rejoin_streams_opened_total{wire="active"}`))
	require.NotContains(t, f.logs.String(), "break")
}

func TestTheGoClientFollowsLiveRuns(t *testing.T) {
	t.Parallel()
	f := newFeed(t, active.Config{}, func(c *relay.Config) { c.MaxStreamAge = 50 * time.Millisecond })
	first := f.start("a")
	client := &consumer.Client{BaseURL: f.url, HTTP: f.client, Backoff: consumer.Backoff{Base: time.Millisecond, Max: time.Millisecond}}
	snapshots, ended := 0, 0
	for u, err := range client.Active(t.Context()) {
		require.NoError(t, err)
		switch {
		case u.Run != nil:
			require.Equal(t, first.entry.RunID, u.Run.RunID)
			require.Equal(t, &done, u.Run.End)
			ended++
		case len(u.Runs) == 1:
			require.Equal(t, "running", u.Runs[0].State)
			if snapshots++; snapshots == 2 { // it came back
				first.finish(done)
			}
		default:
			snapshots++
			ended = max(ended, 1) // it ended between two streams
		}
		if snapshots > 1 && ended > 0 {
			break
		}
	}
	require.Equal(t, 1, ended)
}

func TestWhoGetsAStreamOfLiveRunsAndWhoOneAnswer(t *testing.T) {
	t.Parallel()
	f := newFeed(t, active.Config{}, func(c *relay.Config) { c.MaxStreamAge = time.Millisecond })
	for accept, want := range map[string]string{
		"":                                      "text/event-stream",
		"*/*":                                   "text/event-stream",
		"text/event-stream":                     "text/event-stream",
		"application/json":                      "application/json",
		"text/html, application/json;q=0.9":     "application/json",
		"application/json, text/event-stream":   "text/event-stream",
		"application/jsonp, ;;, application/ld": "text/event-stream",
	} {
		a := f.do(http.MethodGet, "/runs/active", "", "Accept", accept)
		require.Equal(t, want, a.header.Get("Content-Type"), accept)
	}
	require.Equal(t, http.StatusMethodNotAllowed, f.do(http.MethodPost, "/runs/active", "").status)
	require.Equal(t, http.StatusNotFound, newFabric(t, nil).do(http.MethodGet, "/runs/active", "").status)
}

func TestLiveRunsAreAStreamLikeAnother(t *testing.T) {
	t.Parallel()
	f := newFeed(t, active.Config{}, func(c *relay.Config) { c.KeepAlive, c.MaxStreamAge = 5*time.Millisecond, 100*time.Millisecond })
	o, _ := f.feed()
	o.closed()
	require.Positive(t, o.sse.Comments())
	require.Positive(t, o.sse.Retry())

	f = newFeed(t, active.Config{}, func(c *relay.Config) { c.MaxObservers = 1 })
	o, _ = f.feed()
	for _, accept := range []string{"text/event-stream", "application/json"} {
		a := f.do(http.MethodGet, "/runs/active", "", "Accept", accept)
		require.Equal(t, http.StatusServiceUnavailable, a.status)
		require.NotEmpty(t, a.header.Get("Retry-After"))
	}
	f.relay.Drain()
	o.closed()
	require.Positive(t, o.sse.Retry())
	require.Equal(t, http.StatusServiceUnavailable, f.do(http.MethodGet, "/runs/active", "").status)
}

// Nobody learns of a chat that is not his, whatever its name.
func TestLiveRunsAreTheCallersOwn(t *testing.T) {
	t.Parallel()
	f := newFeed(t, active.Config{}, func(c *relay.Config) { c.Auth, c.History = tokens{}, history.Open(c.Store) })
	callers := []string{"t/u/observer", "t/v/observer", "x/u/observer"}
	var streams []*observer
	for _, c := range callers {
		o, all := f.feed(as(c)...)
		require.Empty(t, all.Runs)
		streams = append(streams, o)
	}
	for i, c := range callers {
		tenant, rest, _ := strings.Cut(c, "/")
		user, _, _ := strings.Cut(rest, "/")
		realm, err := subjects.NewRealm(tenant, user)
		require.NoError(t, err)
		st, err := f.store.StartRun(t.Context(), runs.StartRequest{OnActive: runs.Reject,
			Entry: runs.Entry{Realm: realm, ChatID: "c", State: runs.StateQueued, Kind: "retry"}})
		require.NoError(t, err)
		require.Equal(t, "retry", streams[i].changed(string(st.RunID), runs.StateQueued).Kind)
		all := f.active(as(c)...)
		require.Len(t, all.Runs, 1)
		require.Equal(t, string(st.RunID), all.Runs[0].RunID)
	}
	for token, status := range map[string]int{"t/u/producer": 403, "t/u/admin": 403, "expired": 401} {
		require.Equal(t, status, f.do(http.MethodGet, "/runs/active", "", as(token)...).status)
	}
}

func TestASnapshotOfLiveRunsIsBounded(t *testing.T) {
	t.Parallel()
	f := newFeed(t, active.Config{MaxRuns: 2}, nil)
	for i := range 3 {
		f.start(fmt.Sprint(i))
	}
	_, all := f.feed()
	require.True(t, all.Truncated)
	require.Len(t, all.Runs, 2)
	require.Equal(t, "2", all.Runs[0].ChatID, "the newest first")
	require.Equal(t, all, f.active())
}

// Whoever does not keep up gets what was on its way, then the end of the stream, and
// begins anew; whoever does keep up notices nothing.
func TestWhoFallsBehindBeginsAnew(t *testing.T) {
	t.Parallel()
	f := newFeed(t, active.Config{Backlog: 16}, func(c *relay.Config) { c.WriteTimeout = patience })
	healthy, _ := f.feed()
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols, DisableCompression: true,
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10}}
	t.Cleanup(transport.CloseIdleConnections)
	plain := f.client
	f.client = &http.Client{Transport: transport}
	stalled := f.open(http.MethodGet, "/runs/active", "")
	f.client = plain
	_, err := io.ReadFull(stalled.resp.Body, make([]byte, 1)) // it has begun
	require.NoError(t, err)
	chat := strings.Repeat("\x01", 250) // six times as long as JSON
	var last *run
	for i := range 200 {
		last = f.start(fmt.Sprint(i) + chat)
		healthy.changed(last.id(), runs.StateRunning)
	}
	all, err := io.ReadAll(stalled.resp.Body)
	require.NoError(t, err, "it ends between two events")
	require.True(t, bytes.HasSuffix(all, []byte("\n\n")))
	require.Contains(t, string(all), "\nretry: ")
	require.Greater(t, bytes.Count(all, []byte("event: run\n")), 16)
	require.NotContains(t, string(all), last.id())
	f.eventually(`rejoin_streams_closed_total{cause="behind"}`, 1)
	_, now := f.feed()
	require.Len(t, now.Runs, 200)
}

// While the broker is away streams stay open, and nobody is told something old as if it
// were so now; afterwards they learn what has changed.
func TestLiveRunsOutliveABrokersRestart(t *testing.T) {
	t.Parallel()
	f := newFeed(t, active.Config{Reread: time.Hour}, func(c *relay.Config) { c.KeepAlive = 5 * time.Millisecond })
	first := f.start("a")
	o, all := f.feed()
	require.Len(t, all.Runs, 1)
	f.broker.Stop()
	before := o.sse.Comments()
	require.Eventually(t, func() bool {
		a := f.do(http.MethodGet, "/runs/active", "", "Accept", "application/json")
		return a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") != ""
	}, patience, time.Millisecond)
	require.NoError(t, f.broker.Restart())
	require.Eventually(t, func() bool { return f.store.Ping(t.Context()) == nil }, patience, time.Millisecond)
	first.finish(done)
	second := f.start("b")
	o.changed(first.id(), runs.StateEnded)
	o.changed(second.id(), runs.StateRunning)
	require.Greater(t, o.sse.Comments(), before)
	require.Len(t, f.active().Runs, 1)
}
