package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// hostile are names that would mean something else to a subject, a key, a header, a log
// or a path, or would be one another under a careless encoding.
func hostile() []string {
	return []string{"a:b", "user@x.com", "a b", "é", "e\u0301", ".a", "a.", "a..b", "A", "a", "a.b", "a_b", "a_2Eb", "_", "__", "*", ">", "a.*", "a.>",
		"$JS.API.>", "%", "%2E", "a/b", "../runs", "a?b=c", "a#b", "\x00", "a\x00b", "\r\n", "a\nid: 1", "\u2028", "\ufeff", "\u0085", "😀", "\u202e",
		"null", "1", "{}", `"`, `\`, " ", "\t", strings.Repeat("x", 256), strings.Repeat("*", 256), strings.Repeat("é", 128), strings.Repeat("x", 255)}
}

// ID-03: chats with hostile names, all at once. Each is started over HTTP, watched live,
// read by a snapshot, found again on another relay, and evicted, and is never another.
func TestID03_HostileChatIDs(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	relay, other := f.Relay(harness.RelayConfig{}), f.Relay(harness.RelayConfig{})
	runs := map[string]subjects.RunID{}
	live := map[string]*harness.Conn{}
	events := func(i int) []string { return talk("m", fmt.Sprint("chat ", i)) }
	for i, chat := range hostile() {
		require.NotContains(t, runs, chat)
		runs[chat] = subjects.RunID(started(t, relay.URL, chat))
		live[chat] = watch(t, other.URL, harness.Live(chat))
		require.Equal(t, string(runs[chat]), live[chat].Header.Get("Rejoin-Run-Id"), "%q", chat)
		path := relay.URL + "/runs/" + string(runs[chat])
		answer := ask(t, http.MethodPost, path+"/events", strings.Join(events(i), "\n"))
		require.JSONEq(t, `{"accepted":3,"last_seq":3}`, whole(t, answer))
		require.Contains(t, whole(t, ask(t, http.MethodGet, path, "")), quoted(chat), "the record knows the chat by its name")
	}
	for i, chat := range hostile() {
		h := &held{}
		h.until(t, live[chat], 3)
		require.Equal(t, reduce(events(i)), h.state(), "%q", chat)
		// With its own name another chat's run is not to be had.
		neighbour := hostile()[(i+1)%len(hostile())]
		c := watch(t, other.URL, harness.Live(chat, "run_id", runs[neighbour], "after_seq", 1))
		stranger := &held{}
		require.Equal(t, consumer.Snapshot, stranger.frame(t, c).Type)
		require.Equal(t, runs[chat], stranger.run, "%q", chat)
		c.Close()
	}
	for i, chat := range hostile() { // half of them end
		if i%2 == 0 {
			end := ask(t, http.MethodPost, other.URL+"/runs/"+string(runs[chat])+"/end", `{"reason":"error"}`)
			require.Equal(t, http.StatusOK, end.Status)
			h := from(runs[chat], events(i)).toEnd(t, live[chat])
			require.Equal(t, subjects.ReasonError, h.end.Reason)
			byEveryRoute(t, relay.URL, chat, runs[chat], reduce(events(i)), subjects.End{Reason: subjects.ReasonError})
		}
	}
	sweep(t, relay.Store)
	for i, chat := range hostile() {
		if i%2 == 0 {
			idle(t, relay.URL, chat)
			idle(t, other.URL, chat, "run_id", runs[chat], "after_seq", 3)
			require.Equal(t, http.StatusNotFound, ask(t, http.MethodGet, relay.URL+"/runs/"+string(runs[chat]), "").Status)
			continue
		}
		h := poll(t, other.URL, runs[chat])
		require.Equal(t, reduce(events(i)), h.state(), "%q", chat)
		require.Nil(t, h.end, "a chat of another name was evicted")
		require.Equal(t, runs[chat], subjects.RunID(watch(t, relay.URL, harness.Live(chat)).Header.Get("Rejoin-Run-Id")))
	}
}

// ID-03: owners and client tokens are outside strings too.
func TestID03_HostileOwnersAndTokens(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	relay := f.Relay(harness.RelayConfig{})
	seen := map[string]string{}
	for i, name := range hostile() {
		if len(name) > 128 {
			continue
		}
		chat := fmt.Sprint("chat ", i%3)
		body := fmt.Sprintf(`{"chat_id":%q,"owner":%s,"kind":"canvas","client_token":%s}`, chat, quoted(name), quoted(name))
		start := func() string {
			c := ask(t, http.MethodPost, relay.URL+"/runs", body)
			require.Equal(t, http.StatusCreated, c.Status, whole(t, c))
			return c.Header.Get("Location")
		}
		id := start()
		require.Equal(t, id, start(), "the token %q is known again", name)
		require.NotContains(t, seen, id)
		seen[id] = name
	}
	sweep(t, relay.Store)
	kept := 0
	for path := range seen { // the three that no other run superseded
		if ask(t, http.MethodGet, relay.URL+path, "").Status == http.StatusOK {
			kept++
		}
	}
	require.Equal(t, 3, kept)
}
