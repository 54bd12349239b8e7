package agui_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/subjects"
)

// interrupting is an agent that asks twice before it does something: first two things at once, then a third.
func interrupting(a *asked, hold <-chan struct{}) {
	var resume []struct{ InterruptID string }
	_ = json.Unmarshal(a.Resume, &resume)
	interrupt := `,"outcome":{"type":"interrupt","interrupts":[%s]}`
	one := func(id string) string { return fmt.Sprintf(`{"id":%q,"reason":"approval","message":"May I?"}`, id) }
	switch {
	case len(resume) == 0:
		a.say(a.answer(fmt.Sprintf(interrupt, one("i1")+","+one("i2")),
			append(append([]string{`{"type":"STATE_SNAPSHOT","snapshot":{"steps":[1.50],"draft":"<é>"}}`}, says("m1", "I have a draft.")...),
				append(calls("c1", "send", `{"to":"all"}`), `{"type":"STATE_DELTA","delta":[{"op":"add","path":"/steps/-","value":12345678901234567890}]}`)...)...))
	case resume[0].InterruptID == "i1":
		a.say(a.answer(fmt.Sprintf(interrupt, one("i3")), append(says("m2", "Nearly."),
			`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/draft","value":null},{"op":"move","from":"/steps/0","path":"/first"}]}`)...))
	default:
		body := a.answer(`,"outcome":{"type":"success"}`, append(says("m3", "It is sent."),
			`{"type":"TOOL_CALL_RESULT","messageId":"r1","toolCallId":"c1","content":"sent"}`)...)
		a.say(body[:len(body)/2])
		a.hold(hold)
		a.say(body[len(body)/2:])
	}
}

var goOn = json.RawMessage(`[{"id":"u1","role":"user","content":"Write to all, and send it 🙏"}]`)

// interrupted is the conversation with that agent.
var interrupted = []talkTurn{
	{RunID: "r1", Messages: goOn},
	{RunID: "r2", Answers: json.RawMessage(`{"i1":{"status":"resolved","payload":{"approved":true}},"i2":{"status":"cancelled"}}`)},
	{RunID: "r3", Answers: json.RawMessage(`{"i3":{"status":"resolved","payload":{"text":"go","n":1.50}}}`)},
}

// A stock client answers interrupts itself, with resume in its next input.
func TestStockClientResumes(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, func(a *asked) { interrupting(a, closedNow) })
	c := newChain(t, u.url)
	verdicts, _ := requireSameTalk(t, u, c, interrupted)
	require.Contains(t, string(verdicts[2].Messages), "It is sent.")
	// What it has answered nobody else can.
	c.post(http.StatusNotFound, "/chat/answer", `{"chat_id":"chat","run_id":%q,"request_id":"i1","outcome":{"approved":true}}`, c.saved("chat")[0].RunID)
}

var closedNow = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Answers over POST /chat/answer start the next run, once all that a run has asked is answered; the agent is asked what a
// stock client would ask that had answered by itself, and a stock client that watches ends up with the same.
func TestAnswersToInterruptsStartTheNextRun(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	u := newUpstream(t, func(a *asked) {
		hold := closedNow
		if a.ThreadID != "direct" {
			hold = release
		}
		interrupting(a, hold)
	})
	c := newChain(t, u.url)
	both := talk(t, conversation{URL: u.url, ThreadID: "direct", Turns: interrupted}, conversation{URL: c.chat, ThreadID: "chat", Turns: interrupted[:1]})
	direct := u.requests()[:3]
	first := c.saved("chat")[0].RunID
	c.post(http.StatusNotFound, "/chat/answer", `{"chat_id":"chat","run_id":%q,"request_id":"i3","outcome":{}}`, first)

	answer := func(run subjects.RunID, id, outcome string) subjects.RunID {
		return c.post(http.StatusOK, "/chat/answer", `{"chat_id":"chat","run_id":%q,"request_id":%q,"outcome":%s}`, run, id, outcome).RunID
	}
	require.Empty(t, answer(first, "i2", `{"outcome":"cancelled"}`), "the other is open")
	second := answer(first, "i1", `{"approved":true}`)
	require.NotEmpty(t, second)
	require.Equal(t, second, answer(first, "i1", `{"approved":true}`), "the same answer again")
	c.post(http.StatusConflict, "/chat/answer", `{"chat_id":"chat","run_id":%q,"request_id":"i1","outcome":{"approved":false}}`, first)
	c.over(second)
	third := answer(second, "i3", `{"text":"go","n":1.50}`)
	require.NotEmpty(t, third)

	c.stored("chat", 1)
	watching := newTap(t, c.relay.URL)
	client := start(t, job{watcher(t, "chat", both[0][1]), watching.url})
	client.await(watching.fed)
	close(release)
	require.Equal(t, subjects.ReasonDone, c.over(third).End.Reason)
	got := client.verdict(0)
	require.Equal(t, "finished", got.Outcome, "%+v", got.Error)
	require.JSONEq(t, string(both[0][2].Messages), string(got.Messages))
	require.JSONEq(t, string(both[0][2].State), string(got.State))

	chat := u.requests()[3:]
	require.Len(t, chat, 3)
	ids := map[string]bool{}
	for i := range direct {
		sameAsked(t, direct[i], chat[i])
		require.Equal(t, "chat", chat[i].ThreadID)
		require.False(t, ids[chat[i].RunID], "a run id is given twice")
		ids[chat[i].RunID] = true
	}
	saved := c.saved("chat")
	require.Len(t, saved, 3)
	require.Equal(t, "approval", saved[2].Kind)
}

// watcher is the input of a client that has what another one has.
func watcher(t *testing.T, thread string, has verdict) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"threadId": thread, "messages": has.Messages, "state": has.State})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "input.json")
	require.NoError(t, os.WriteFile(path, body, 0o600))
	return path
}

// The same for a chat whose client sends nothing but texts.
func TestAnswersToInterruptsOfATextTurn(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, func(a *asked) { interrupting(a, closedNow) })
	c := newChain(t, u.url)
	direct := talk(t, conversation{URL: u.url, ThreadID: "direct", Turns: interrupted})[0]
	c.over(c.post(http.StatusAccepted, "/chat/send", `{"chat_id":"chat","input":{"text":"Write to nobody"}}`).RunID)
	run := c.post(http.StatusAccepted, "/chat/send", `{"chat_id":"chat","kind":"edit","input":{"text":"Write to all, and send it 🙏"}}`).RunID
	first := run
	for _, step := range []string{"i1 i2", "i3"} {
		c.over(run)
		next := subjects.RunID("")
		for _, id := range []string{"i1", "i2", "i3"} {
			outcome := map[string]string{"i1": `{"approved":true}`, "i2": `{"outcome":"cancelled"}`, "i3": `{"text":"go","n":1.50}`}[id]
			if (step == "i3") == (id == "i3") {
				next = c.post(http.StatusOK, "/chat/answer", `{"chat_id":"chat","run_id":%q,"request_id":%q,"outcome":%s}`, run, id, outcome).RunID
			}
		}
		require.NotEmpty(t, next)
		run = next
	}
	require.Equal(t, subjects.ReasonDone, c.over(run).End.Reason)
	asked := u.requests()
	require.Len(t, asked, 7)
	for i, a := range asked[4:] {
		a.body = strings.ReplaceAll(a.body, "user-"+string(first), "u1")
		sameAsked(t, asked[i], a)
	}
	require.Equal(t, "finished", direct[2].Outcome)
}
