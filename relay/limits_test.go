package relay_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/relay"
)

// limited is a relay with all routes that asks for credentials and has limits.
func limited(t *testing.T, l relay.Limits, change func(*relay.Config)) *fabric {
	t.Helper()
	return newFabric(t, func(c *relay.Config) {
		c.Auth, c.Limits, c.History = tokens{}, l, history.Open(c.Store)
		c.Turns = turns.New(c.Store, turns.Config{Logger: c.Logger})
		if change != nil {
			change(c)
		}
	})
}

// refusedFor wants an answer of a status that says to come back, and when.
func refusedFor(t testing.TB, a answer, status int) time.Duration {
	t.Helper()
	require.Equal(t, status, a.status, a.body)
	require.Equal(t, "too_many_requests", a.problem(t).Code)
	seconds, err := strconv.Atoi(a.header.Get("Retry-After"))
	require.NoError(t, err)
	require.Positive(t, seconds)
	require.LessOrEqual(t, seconds, 60)
	return time.Duration(seconds) * time.Second
}

// A user has as many streams as it may have, waiting ones included, on all ways to open
// one; another user and what is no stream have nothing to do with that.
func TestStreamsOfAnOwner(t *testing.T) {
	t.Parallel()
	f := limited(t, relay.Limits{OwnerObservers: 2}, nil)
	alice, bob := as("t/alice/observer"), as("t/bob/observer")
	id := f.startOf("alice", "c").id()
	body := `{"chat_id":"c","protocol":1}`
	first := f.open(http.MethodPost, "/chat/live", body, alice...)
	f.open(http.MethodGet, "/chat/live?chat_id=c", "", alice...)
	refusedFor(t, f.do(http.MethodPost, "/chat/live", body, alice...), http.StatusTooManyRequests)
	refusedFor(t, f.do(http.MethodGet, "/chat/live?chat_id=c", "", alice...), http.StatusTooManyRequests)
	refusedFor(t, f.do(http.MethodPost, "/chat", `{"chat_id":"new","protocol":1,"input":{"text":"hi"}}`, alice...), http.StatusTooManyRequests)
	require.Equal(t, http.StatusNotFound, f.do(http.MethodPost, "/chat/stop", `{"chat_id":"new","run_id":"x"}`, alice...).status,
		"nothing was sent, and stopping has no limit")
	require.Equal(t, http.StatusOK, f.do(http.MethodGet, "/runs/"+id+"/snapshot", "", alice...).status)
	require.Equal(t, http.StatusNoContent, f.do(http.MethodPost, "/chat/live", body, bob...).status)
	require.Equal(t, 3.0, f.number(`rejoin_observers_refused_total{why="owner"}`))
	first.close()
	f.watching(1)
	f.open(http.MethodPost, "/chat/live", body, alice...)
}

// A run has as many observers as it may have; other runs have theirs.
func TestStreamsOfARun(t *testing.T) {
	t.Parallel()
	f := limited(t, relay.Limits{RunObservers: 2}, nil)
	f.startOf("alice", "c")
	alice := as("t/alice/observer")
	body := `{"chat_id":"c","protocol":1}`
	for range 2 {
		f.open(http.MethodPost, "/chat/live", body, alice...)
	}
	refusedFor(t, f.do(http.MethodPost, "/chat/live", body, alice...), http.StatusServiceUnavailable)
	f.watching(2)
	f.startOf("alice", "another")
	f.open(http.MethodPost, "/chat/live", `{"chat_id":"another","protocol":1}`, alice...)
	require.Equal(t, 1.0, f.number(`rejoin_observers_refused_total{why="run"}`))
}

// A user who sends too fast is told when there is room. What it has sent can be stopped
// all the same, what it is asked answered, and others send.
func TestMessagesOfAnOwner(t *testing.T) {
	t.Parallel()
	f := limited(t, relay.Limits{OwnerSends: 8}, nil)
	alice := as("t/alice/observer")
	send := func(path, chat string, who []string) answer {
		return f.do(http.MethodPost, path, fmt.Sprintf(`{"chat_id":%q,"input":{"text":"hi"}}`, chat), who...)
	}
	a := send("/chat/send", "c", alice)
	require.Equal(t, http.StatusAccepted, a.status, a.body)
	require.Equal(t, http.StatusAccepted, send("/chat/steer-send", "c2", alice).status)
	for _, path := range []string{"/chat/send", "/chat/steer-send", "/chat"} {
		wait := refusedFor(t, send(path, "c3", alice), http.StatusTooManyRequests)
		require.LessOrEqual(t, wait, 8*time.Second, "one every seven and a half seconds")
	}
	require.Equal(t, http.StatusAccepted, send("/chat/send", "c", as("t/bob/observer")).status)
	require.Equal(t, http.StatusAccepted, send("/chat/send", "c", as("u/alice/observer")).status, "of another tenant")
	run := a.body[strings.Index(a.body, `"run_id":"`)+len(`"run_id":"`):]
	run = run[:strings.IndexByte(run, '"')]
	for range 5 {
		stopped := f.do(http.MethodPost, "/chat/stop", fmt.Sprintf(`{"chat_id":"c","run_id":%q}`, run), alice...)
		require.Contains(t, []int{http.StatusAccepted, http.StatusConflict}, stopped.status, stopped.body)
	}
	asking := f.startOf("alice", "asking")
	asking.ask(runs.Question{Name: "permission", RequestID: "q"})
	for range 5 {
		answered := f.do(http.MethodPost, "/chat/answer",
			fmt.Sprintf(`{"chat_id":"asking","run_id":%q,"request_id":"q","outcome":{"ok":true}}`, asking.id()), alice...)
		require.Equal(t, http.StatusOK, answered.status, answered.body)
	}
	require.Equal(t, 3.0, f.number(`rejoin_sends_refused_total{why="owner"}`))
}

// Where nobody is authenticated there are no owners, and only what is for all holds.
func TestNobodysLimits(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, func(c *relay.Config) {
		c.Limits = relay.Limits{OwnerObservers: 1, OwnerSends: 1, Sends: 2}
	})
	f.start("c")
	for range 3 {
		f.live(`{"chat_id":"c","protocol":1}`)
	}
	const messages = 20
	answers := make(chan answer, messages)
	for i := range messages {
		go func() {
			answers <- f.do(http.MethodPost, "/chat/send", fmt.Sprintf(`{"chat_id":"c%d","input":{"text":"hi"}}`, i))
		}()
	}
	refused := 0
	for range messages {
		if a := <-answers; a.status != http.StatusAccepted {
			refusedFor(t, a, http.StatusServiceUnavailable)
			refused++
		}
	}
	require.Positive(t, refused)
	require.Less(t, refused, messages-1)
	require.Equal(t, float64(refused), f.number(`rejoin_sends_refused_total{why="relay"}`))
}

// A snapshot for which there is no room, because others hold all of it, is refused after
// a while with the advice to come back; it is given as soon as there is room.
func TestNoRoomForASnapshot(t *testing.T) {
	t.Parallel()
	hub := (*consumer.Hub)(nil)
	f := newFabric(t, func(c *relay.Config) {
		hub = consumer.NewHub(consumer.HubConfig{Store: c.Store, MaxBytes: 1 << 20, Metrics: c.Metrics.Hub()})
		t.Cleanup(hub.Close)
		c.Hub = hub
	})
	held, wanted := f.start("held"), f.start("wanted")
	for i := range 8 {
		held.publish(big(i))
		wanted.publish(big(i))
	}
	data, err := hub.Snapshot(t.Context(), held.entry)
	require.NoError(t, err)
	refusedFor(t, f.do(http.MethodGet, "/runs/"+wanted.id()+"/snapshot", ""), http.StatusServiceUnavailable)
	require.Positive(t, f.number("rejoin_replay_held_bytes"))
	got := make(chan answer, 1)
	go func() { got <- f.do(http.MethodGet, "/runs/"+wanted.id()+"/snapshot", "") }()
	f.eventually("rejoin_replay_waiting", 1)
	data.Release()
	require.Equal(t, http.StatusOK, (<-got).status)
	f.eventually("rejoin_replay_held_bytes", 0)
}
