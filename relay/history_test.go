package relay_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/subjects"
)

// save puts a turn into a chat's history.
func (f *fabric) save(chat, input string, events ...string) string {
	f.t.Helper()
	return f.saveRun(f.store.NewRunID(), chat, input, events...)
}

func (f *fabric) saveRun(id subjects.RunID, chat, input string, events ...string) string {
	f.t.Helper()
	body, err := json.Marshal(rawAll(events))
	require.NoError(f.t, err)
	require.NoError(f.t, history.Open(f.store).Append(f.t.Context(), history.Turn{ChatID: chat, RunID: id, Kind: "send",
		Input: json.RawMessage(input), Events: body, EndedAt: time.Unix(1, 0).UTC(), Reason: subjects.ReasonDone}))
	return string(id)
}

func rawAll(all []string) []json.RawMessage {
	raw := []json.RawMessage{}
	for _, s := range all {
		raw = append(raw, json.RawMessage(s))
	}
	return raw
}

func TestHistory(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, nil)
	for _, chat := range []string{"none", "%00", "a%2Fb"} {
		require.Equal(t, "{\"turns\":[]}\n", f.do(http.MethodGet, "/chat/"+chat+"/history", "").body)
	}
	var ids []string
	for i := range 25 {
		ids = append(ids, f.save("c", fmt.Sprintf(`{"text":"%d"}`, i), runStarted, delta(uint64(i))))
	}
	type turn struct {
		RunID   string `json:"run_id"`
		Kind    string
		Input   json.RawMessage
		Events  []json.RawMessage
		EndedAt time.Time `json:"ended_at"`
		Reason  string
	}
	get := func(query string) (v struct{ Turns []turn }) {
		a := f.do(http.MethodGet, "/chat/c/history"+query, "")
		require.Equal(t, http.StatusOK, a.status, a.body)
		require.Equal(t, "application/json", a.header.Get("Content-Type"))
		require.Equal(t, "no-store", a.header.Get("Cache-Control"))
		require.NoError(t, json.Unmarshal([]byte(a.body), &v), a.body)
		return v
	}
	require.Equal(t, turn{RunID: ids[24], Kind: "send", Input: json.RawMessage(`{"text":"24"}`), Events: rawAll([]string{runStarted, delta(24)}),
		EndedAt: time.Unix(1, 0).UTC(), Reason: "done"}, get("?limit=1").Turns[0])
	for query, n := range map[string]int{"": 20, "?limit=": 20, "?limit=100": 25, "?limit=3&x=y": 3} {
		all := get(query).Turns
		require.Len(t, all, n, query)
		for i, one := range all {
			require.Equal(t, ids[25-n+i], one.RunID, "newest last")
		}
	}
	for _, limit := range []string{"0", "101", "-1", "1.5", "x", "+1", "1e1", "99999999999999999999"} {
		a := f.do(http.MethodGet, "/chat/c/history?limit="+url.QueryEscape(limit), "")
		require.Equal(t, http.StatusBadRequest, a.status, limit)
		require.Contains(t, a.problem(t).Detail, "limit must be an integer from 1 to 100")
	}
	require.Equal(t, http.StatusBadRequest, f.do(http.MethodGet, "/chat/c/history?limit=%zz", "").status)
	require.Equal(t, http.StatusBadRequest, f.do(http.MethodGet, "/chat/"+long(257)+"/history", "").status)
	require.Equal(t, http.StatusBadRequest, f.do(http.MethodGet, "/chat/%ff/history", "").status)
}

func TestHistoryOfChatsWithOddNames(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, nil)
	for _, chat := range []string{"a/b", "a%2Fb", "a b+c", "?x=1#y", "é", "😀", "*.>", "\x00\n", "live"} {
		id := f.save(chat, `{"text":"<&>"}`)
		a := f.do(http.MethodGet, "/chat/"+url.PathEscape(chat)+"/history", "")
		require.Equal(t, http.StatusOK, a.status, chat)
		require.Equal(t, fmt.Sprintf(`{"turns":[{"run_id":%q,"kind":"send","ended_at":"1970-01-01T00:00:01Z","reason":"done","input":{"text":"<&>"},"events":[]}]}`+"\n", id), a.body)
	}
}

// What was asked in few words is resumed with all messages of the chat.
func TestAnInterruptOfATextsRunIsResumedWithTheHistory(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, nil)
	earlier := f.save("c", `{"text":"first"}`, runStarted, `{"type":"TEXT_MESSAGE_START","messageId":"a0","role":"assistant"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"a0","delta":"yes?"}`, `{"type":"TEXT_MESSAGE_END","messageId":"a0"}`, runFinished)
	r := f.begin(f.send("c", "").RunID)
	r.publish(runStarted, `{"type":"TOOL_CALL_RESULT","messageId":"t0","toolCallId":"t","content":"ok"}`,
		`{"type":"RUN_FINISHED","threadId":"c","runId":"a","outcome":{"type":"interrupt","interrupts":[{"id":"i"}]}}`)
	f.saveRun(r.entry.RunID, "c", `{"text":"hi"}`, `{"type":"TOOL_CALL_RESULT","messageId":"t0","toolCallId":"t","content":"ok"}`)
	r.ask(runs.Question{Name: runs.InterruptName, RequestID: "i", Interrupt: true})
	r.finish(done)
	next := f.post(http.StatusOK, "/chat/answer", answering(r, "i", `{"ok":1}`)).RunID
	var input struct {
		ThreadID string `json:"threadId"`
		RunID    string `json:"runId"`
		Text     *string
		State    json.RawMessage
		Messages json.RawMessage
		Resume   json.RawMessage
	}
	require.NoError(t, json.Unmarshal(f.turn(next).Input, &input))
	require.Equal(t, "c", input.ThreadID)
	require.NotEmpty(t, input.RunID)
	require.Nil(t, input.Text)
	require.JSONEq(t, `{}`, string(input.State))
	require.JSONEq(t, `[{"interruptId":"i","status":"resolved","payload":{"ok":1}}]`, string(input.Resume))
	require.JSONEq(t, fmt.Sprintf(`[{"id":"user-%s","role":"user","content":"first"},{"id":"a0","role":"assistant","content":"yes?"},
		{"id":"user-%s","role":"user","content":"hi"},{"id":"t0","role":"tool","content":"ok","toolCallId":"t"}]`, earlier, r.id()), string(input.Messages))
}
