package chaos_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/producer/worker"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// hostile are ids that mean something to a broker, a URL, a log or a page.
var hostile = []string{
	"*", ">", "a.*.>", ".", "..", "a..b", "$KV.rejoin.>", "rejoin.run.0.>", "a b", " ", "\t\n", "a\r\nb: c", "é\u2028\u202e", "a/b", "%2F", "?#&=",
	"<script>", "\x00", "-", "_", "A", "a", `"`, strings.Repeat(`"`, 128), strings.Repeat("\x01", 128), strings.Repeat("é", 64), "chat.x", "id: 1\n\ndata: x",
}

// Every hostile chat goes through every endpoint, with hostile kinds and tokens, and has
// nothing but what is its own.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, harness.Config{})
	w.Worker(agent.Func(func(ctx context.Context, t agent.Turn) error {
		if agui.UserText(t.Request().Input) == "ask" {
			_, err := t.Ask(ctx, agent.Question{Name: "a.*.> \n", Options: []string{"yes", "no"}})
			return err
		}
		return nil
	}), worker.Config{Concurrency: 64})
	chats := append([]string{strings.Repeat("\x01", 256), strings.Repeat("é", 128), strings.Repeat(".", 256), strings.Repeat("*", 256)}, hostile...)
	ids := make([]subjects.RunID, len(chats))
	for i, chat := range chats {
		kind := hostile[i%len(hostile)]
		if len(kind) > 64 {
			kind = kind[:64]
		}
		body := fields{"chat_id": chat, "input": text("ask"), "kind": kind, "client_token": hostile[(i+5)%len(hostile)]}
		for relay := range 2 {
			a := w.post(relay, "/chat/send", body)
			require.Equal(t, http.StatusAccepted, a.Status, "%q: %s", chat, a.Body)
			require.True(t, relay == 0 || a.RunID == ids[i], "%q: the same token, the same run", chat)
			ids[i] = a.RunID
		}
	}
	for i, chat := range chats {
		id, relay := ids[i], i%2
		request := w.question(id)
		for _, name := range hostile {
			require.Equal(t, http.StatusNotFound, w.answer(relay, chat, id, name, yes).Status, "%q answered in %q", name, chat)
			require.Equal(t, http.StatusNotFound, w.answer(relay, chat, subjects.RunID(name), request, yes).Status)
			require.Equal(t, http.StatusNotFound, w.post(relay, "/chat/stop", fields{"chat_id": chat, "run_id": name}).Status)
			if name != hostile[(i+5)%len(hostile)] {
				require.Equal(t, http.StatusNotFound, w.post(relay, "/chat/stop", fields{"chat_id": chat, "client_token": name}).Status)
			}
		}
		for _, name := range []string{"*", ">", "a.*.>", "%2F"} {
			require.Equal(t, http.StatusNotFound, w.ask(relay, http.MethodGet, "/runs/"+url.PathEscape(name), "").Status, name)
		}
		other := chats[(i+1)%len(chats)]
		require.Equal(t, http.StatusNotFound, w.answer(relay, other, id, request, yes).Status, "%q is not %q", other, chat)
		require.Equal(t, http.StatusConflict, w.post(relay, "/chat/send", fields{"chat_id": chat, "input": text("x")}).Status)
		require.Equal(t, http.StatusOK, w.answer(relay, chat, id, request, yes).Status)
		require.Equal(t, subjects.End{Persisted: true, Reason: subjects.ReasonDone}, w.ended(id))
		a := w.ask(1-relay, http.MethodGet, chatPath(chat, "/history"), "")
		var kept struct {
			Turns []struct {
				RunID subjects.RunID `json:"run_id"`
				Kind  string         `json:"kind"`
			} `json:"turns"`
		}
		if chat == "." || chat == ".." { // a path cannot say these, however they are escaped
			continue
		}
		require.Equal(t, http.StatusOK, a.Status, "%q: %s", chat, a.Body)
		require.NoError(t, json.Unmarshal([]byte(a.Body), &kept), "%q", chat)
		require.Len(t, kept.Turns, 1, "%q", chat)
		require.Equal(t, id, kept.Turns[0].RunID)
		require.Equal(t, http.StatusAccepted, w.post(relay, "/chat/steer-send", fields{"chat_id": chat, "input": text("x")}).Status)
	}
	for _, bad := range []fields{
		{"chat_id": strings.Repeat("x", 257), "input": text("x")},
		{"chat_id": "c", "input": text("x"), "kind": strings.Repeat("x", 65)},
		{"chat_id": "c", "input": text("x"), "client_token": strings.Repeat(`"`, 129)},
		{"chat_id": "c", "input": text("x"), "on_active": ">"},
		{"chat_id": "", "input": text("x")},
	} {
		for _, path := range []string{"/chat/send", "/chat/steer-send", "/chat"} {
			if bad["on_active"] != nil && path == "/chat/steer-send" {
				continue // it is not looked at
			}
			require.Equal(t, http.StatusBadRequest, w.post(0, path, bad).Status, "%s %v", path, bad)
		}
	}
}

// A producer may give its questions any id; each has its own answer.
func TestHostileQuestions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, harness.Config{})
	r := w.Start(w.relays[0].Producer, "c")
	ctx := w.within()
	for i, name := range hostile {
		value, err := json.Marshal(map[string]any{"requestId": name, "messageId": fmt.Sprintf("m%d", i), "status": "pending"})
		require.NoError(t, err)
		_, err = r.Publish(ctx, fmt.Appendf(nil, `{"type":"CUSTOM","name":"q.request","value":%s}`, value))
		require.NoError(t, err)
	}
	_, err := r.Flush(ctx)
	require.NoError(t, err)
	for i, name := range hostile {
		a := w.answer(i%2, "c", r.ID(), name, fmt.Sprintf(`{"n":%d}`, i))
		require.Equal(t, http.StatusOK, a.Status, "%q: %s", name, a.Body)
	}
	for i, name := range hostile {
		c, err := r.NextControl(ctx)
		require.NoError(t, err)
		require.Equal(t, name, c.ID)
		require.JSONEq(t, fmt.Sprintf(`{"n":%d}`, i), string(c.Body))
		require.Equal(t, http.StatusConflict, w.answer(0, "c", r.ID(), name, `{}`).Status)
	}
	_, err = r.Finish(ctx, producer.FinishOptions{})
	require.NoError(t, err)
}
