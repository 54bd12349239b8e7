package relay_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/relay"
)

func TestAMessageBecomesARunThatCanBeWatchedAtOnce(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, func(c *relay.Config) { c.ForwardHeaders = []string{"x-user", "Authorization", "Cookie", "X-Hop"} })
	const input = `{ "text" : "a < b & \ud83d\ude00" }`
	a := f.do(http.MethodPost, "/chat/send", `{"chat_id":"c","kind":"canvas","input":`+input+`,"extra":1}`,
		"X-User", "ann", "Authorization", "Bearer x", "X-Other", "no", "X-Hop", "no", "Connection", "X-Hop")
	require.Equal(t, http.StatusAccepted, a.status, a.body)
	require.Equal(t, "application/json", a.header.Get("Content-Type"))
	require.Equal(t, "no-store", a.header.Get("Cache-Control"))
	id := f.post(http.StatusConflict, "/chat/send", `{"chat_id":"c","input":{"text":"again"}}`).RunID

	v := f.view(id)
	require.Equal(t, "queued", v.State)
	require.Equal(t, "canvas", v.Kind)
	require.Contains(t, a.body, *v.TurnID)
	require.Contains(t, a.body, id)
	turn := f.turn(id)
	require.Equal(t, input, string(turn.Input))
	require.Equal(t, map[string]string{"X-User": "ann", "Authorization": "Bearer x"}, turn.Header)

	// Nothing is there of it yet but its start: an observer of it has a stream, then everything.
	o := f.live(`{"chat_id":"c","protocol":1}`)
	require.Equal(t, id, o.resp.Header.Get("Rejoin-Run-Id"))
	first := o.next()
	require.Equal(t, consumer.Snapshot, first.Type)
	require.Zero(t, first.Seq)
	r := f.begin(id)
	r.deltas(3)
	r.finish(done)
	o.toEnd()
	require.Equal(t, text(3), o.text)
}

// Every 400 says which field it is, and nothing of the message is anywhere.
func TestMessagesThatAreRefused(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, nil)
	long := long(257)
	for _, path := range []string{"/chat/send", "/chat/steer-send", "/chat"} {
		for body, want := range map[string]string{
			``:                                              "the body is empty",
			`[]`:                                            "no object",
			`{"input":{"text":"x"}}`:                        "chat_id is empty",
			`{"chat_id":"","input":{}}`:                     "chat_id is empty",
			`{"chat_id":5,"input":{}}`:                      "chat_id must be a string",
			`{"chat_id":"\ud800"}`:                          "chat_id has an escape",
			`{"chat_id":"` + long + `"}`:                    "1 to 256 bytes",
			`{"threadId":"","messages":[]}`:                 "threadId is empty",
			`{"threadId":"c"}`:                              "input has neither text nor messages",
			`{"chat_id":"c"}`:                               "input is missing",
			`{"chat_id":"c","input":null}`:                  "input is missing",
			`{"chat_id":"c","input":"text"}`:                "input is no JSON object",
			`{"chat_id":"c","input":[]}`:                    "input is no JSON object",
			`{"chat_id":"c","input":{}}`:                    "input has neither text nor messages",
			`{"chat_id":"c","input":{"text":7}}`:            "input.text is no string",
			`{"chat_id":"c","input":{"text":"x"},"kind":7}`: "kind must be a string",
			`{"chat_id":"c","input":{"text":"x"},"kind":"` + long[:65] + `"}`:          "kind has 65 bytes",
			`{"chat_id":"c","input":{"text":"x"},"client_token":[]}`:                   "client_token must be a string",
			`{"chat_id":"c","input":{"text":"x"},"client_token":"` + long[:129] + `"}`: "client_token has 129 bytes",
			`{"chat_id":"c","input":{"text":"x"},"synced":"yes"}`:                      "synced must be true or false",
			`{"chat_id":"c","input":{"text":"x"},"on_active":""}`:                      "on_active is empty; allowed are reject, queue and supersede",
			`{"chat_id":"c","input":{"text":"x"},"on_active":true}`:                    "on_active must be a string",
			"{\"chat_id\":\"c\",\"input\":{\"text\":\"\xff\"}}":                        "not valid UTF-8",
			`{"chat_id":"c","input":{"text":"x"}} {}`:                                  "not one JSON object",
		} {
			p := f.do(http.MethodPost, path, body).problem(t)
			require.Equal(t, http.StatusBadRequest, p.Status, path+body)
			require.Equal(t, "bad_request", p.Code)
			require.Contains(t, p.Detail, want, path+body)
		}
		if path != "/chat/steer-send" { // which does not look at it
			for body, want := range map[string]string{
				`{"chat_id":"c","input":{"text":"x"},"on_active":"kill"}`:                         `on_active is "kill"; allowed are reject, queue and supersede`,
				`{"chat_id":"c","input":{"text":"x"},"kind":"heartbeat","on_active":"supersede"}`: "heartbeat never supersedes",
			} {
				require.Contains(t, f.post(http.StatusBadRequest, path, body).Detail, want)
			}
		}
		for _, protocol := range []string{`2`, `"1"`, `1.0`, `true`} {
			body := `{"chat_id":"c","input":{"text":"x"},"protocol":` + protocol + `}`
			require.Equal(t, "unsupported_protocol", f.post(http.StatusBadRequest, path, body).Code)
		}
	}
	require.Equal(t, http.StatusNoContent, f.do(http.MethodPost, "/chat/live", `{"chat_id":"c","protocol":1}`).status)
}

func TestMessagesAreBounded(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{MaxInput: 100_000}, nil)
	for _, path := range []string{"/chat/send", "/chat/steer-send", "/chat"} {
		v := f.post(http.StatusRequestEntityTooLarge, path, `{"chat_id":"c","input":{"text":"`+long(100_000)+`"}}`)
		require.Contains(t, v.Detail, "allowed are 100000")
		v = f.post(http.StatusRequestEntityTooLarge, path, `{"threadId":"c","messages":["`+long(100_000)+`"]}`)
		require.Contains(t, v.Detail, "allowed are 100000")
		v = f.post(http.StatusRequestEntityTooLarge, path, `{"chat_id":"c","input":{"text":"x"}}`+strings.Repeat(" ", 170_000))
		require.Contains(t, v.Detail, "larger than 165536 bytes")
	}
	big := long(99_900)
	id := f.post(http.StatusAccepted, "/chat/send", `{"chat_id":"c","input":{"text":"`+big+`"}}`).RunID
	require.Equal(t, `{"text":"`+big+`"}`, string(f.turn(id).Input))

	f = newChats(t, turns.Config{}, nil) // larger than a message of the broker
	big = long(4<<20 - 20)
	id = f.post(http.StatusAccepted, "/chat/send", `{"chat_id":"c","input":{"text":"`+big+`"}}`).RunID
	require.Equal(t, `{"text":"`+big+`"}`, string(f.turn(id).Input))
}

func TestSendsToAChatThatIsActive(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, nil)
	first := f.send("c", `,"client_token":"t1"`)
	v := f.post(http.StatusConflict, "/chat/send", `{"chat_id":"c","input":{"text":"x"}}`)
	require.Equal(t, "already_streaming", v.Code)
	require.Equal(t, first.RunID, v.RunID)
	require.Equal(t, first.RunID, f.post(http.StatusConflict, "/chat/send",
		`{"chat_id":"c","input":{"text":"x"},"kind":"heartbeat"}`).RunID)
	require.Equal(t, first, f.send("c", `,"client_token":"t1"`), "the first one's run again")

	second := f.send("c", `,"on_active":"queue","client_token":"t2"`)
	require.NotEqual(t, first.RunID, second.RunID)
	require.Equal(t, second, f.send("c", `,"on_active":"queue","client_token":"t2"`))
	require.Equal(t, "queued", f.view(second.RunID).State)

	o := f.live(`{"chat_id":"c","protocol":1}`)
	o.next()
	third := f.send("c", `,"kind":"edit"`)
	o.toEnd()
	require.True(t, o.end.End.Superseded)
	require.EqualValues(t, third.RunID, o.end.End.NextRunID)
	require.Equal(t, first, f.send("c", `,"client_token":"t1"`), "though it is over")
	f.begin(third.RunID).finish(done)

	// It is the second one's time now.
	o = f.live(`{"chat_id":"c","protocol":1}`)
	require.EqualValues(t, second.RunID, o.next().RunID)
}

func TestAQueueThatIsFull(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, nil)
	f.send("c", "")
	for range 32 {
		f.send("c", `,"on_active":"queue"`)
	}
	a := f.do(http.MethodPost, "/chat/send", `{"chat_id":"c","input":{"text":"x"},"on_active":"queue"}`)
	require.Equal(t, http.StatusTooManyRequests, a.status)
	require.Equal(t, "too_many_requests", a.problem(t).Code)
	require.NotEmpty(t, a.header.Get("Retry-After"))
}

func TestWithoutTurnsThereAreNoSuchPaths(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	for _, path := range []string{"/chat", "/chat/send", "/chat/steer-send", "/chat/stop", "/chat/answer"} {
		require.Equal(t, "not_found", f.post(http.StatusNotFound, path, `{}`).Code)
	}
	require.Equal(t, http.StatusNotFound, f.do(http.MethodGet, "/chat/c/history", "").status)
}

func TestHeadersThatAreNeverForwarded(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	for _, name := range []string{"connection", "Transfer-Encoding", "Content-Length", "TE", "host", "", "a b", "x:y", "ü"} {
		_, err := relay.New(relay.Config{Hub: f.hub, Store: f.store, ForwardHeaders: []string{"X-Fine", name}})
		require.ErrorIs(t, err, relay.ErrConfig, name)
		require.ErrorContains(t, err, "ForwardHeaders")
	}
}
