package relay_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/subjects"
)

// What is somebody else's takes as many questions to the broker as what does not exist, on
// every route, and so as long.
func TestForeignAndUnknownTakeAsLong(t *testing.T) {
	t.Parallel()
	f := resuming(t, tokens{}, func(c *relay.Config) {
		c.History, c.Turns = history.Open(c.Store), turns.New(c.Store, turns.Config{Logger: c.Logger})
	})
	running := f.startOf("ann", "c")
	running.deltas(5)
	over := f.startOf("ann", "over")
	over.deltas(5)
	over.finish(subjects.End{Persisted: true, Reason: subjects.ReasonDone})
	a := f.do(http.MethodPost, "/chat/send", `{"chat_id":"queued","client_token":"tok","input":{"text":"hi"}}`, as(ann)...)
	require.Equal(t, http.StatusAccepted, a.status)
	const bob, elsewhere = "t/bob/observer", "s/svc/producer"
	for _, q := range []struct{ who, method, path, body string }{
		{bob, "GET", "/runs/%s", ""},
		{bob, "GET", "/runs/%s/snapshot", ""},
		{elsewhere, "GET", "/runs/%s", ""},
		{elsewhere, "GET", "/runs/%s/snapshot", ""},
		{elsewhere, "GET", "/runs/%s/controls", ""},
		{bob, "POST", "/chat/live", `{"chat_id":"c","protocol":1,"run_id":"%s"}`},
		{bob, "POST", "/chat/live", `{"chat_id":"c","protocol":1,"run_id":"%s","after_seq":3}`},
		{bob, "POST", "/chat/stop", `{"chat_id":"c","run_id":"%s"}`},
		{bob, "POST", "/chat/answer", `{"chat_id":"c","run_id":"%s","request_id":"q","outcome":{}}`},
	} {
		ask := func(id string) (answer, uint64) {
			path, body := q.path, q.body
			if q.method == http.MethodGet {
				path = fmt.Sprintf(path, id)
			} else {
				body = fmt.Sprintf(body, id)
			}
			var got answer
			fewest := ^uint64(0)
			for range 5 { // health and the like ask beside
				before := f.store.Conn().Stats().OutMsgs
				got = f.do(q.method, path, body, append(as(q.who), "If-None-Match", "*")...)
				fewest = min(fewest, f.store.Conn().Stats().OutMsgs-before)
			}
			return got, fewest
		}
		unknown, questions := ask(string(f.store.NewRunID()))
		require.Less(t, unknown.status, 500, "%+v", q)
		for name, id := range map[string]string{"running": running.id(), "over": over.id()} {
			foreign, n := ask(id)
			require.Equal(t, unknown.status, foreign.status, "%s %+v", name, q)
			require.Equal(t, unknown.body, foreign.body, "%s %+v", name, q)
			require.Equal(t, questions, n, "%s %+v", name, q)
			for h := range foreign.header {
				require.Contains(t, unknown.header, h, "%s %+v", name, q)
			}
		}
	}
	// By chat, and by the token of a send.
	for _, q := range []struct{ method, path, body string }{
		{"GET", "/chat/%s/session", ""},
		{"GET", "/chat/%s/history", ""},
		{"POST", "/chat/live", `{"chat_id":"%s","protocol":1,"wait_ms":1}`},
		{"POST", "/chat/stop", `{"chat_id":"%s","client_token":"tok"}`},
	} {
		ask := func(chat string) (string, uint64) {
			path, body := q.path, q.body
			if q.method == http.MethodGet {
				path = fmt.Sprintf(path, chat)
			} else {
				body = fmt.Sprintf(body, chat)
			}
			fewest := ^uint64(0)
			var got answer
			for range 5 {
				before := f.store.Conn().Stats().OutMsgs
				got = f.do(q.method, path, body, as(bob)...)
				fewest = min(fewest, f.store.Conn().Stats().OutMsgs-before)
			}
			return fmt.Sprint(got.status), fewest
		}
		status, questions := ask("nobodys")
		for _, chat := range []string{"c", "over", "queued"} {
			s, n := ask(chat)
			require.Equal(t, status, s, "%s %+v", chat, q)
			require.Equal(t, questions, n, "%s %+v", chat, q)
		}
	}
}
