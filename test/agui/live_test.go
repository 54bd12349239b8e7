package agui_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// live starts the stock agent of live/serve.mjs and returns its URL.
func live(t *testing.T) string {
	t.Helper()
	requireInstalled(t, "live", "the stock agent is not installed: run make setup")
	command := exec.CommandContext(t.Context(), "node", "live/serve.mjs")
	stdin, err := command.StdinPipe() // it serves until this ends
	require.NoError(t, err)
	stdout, err := command.StdoutPipe()
	require.NoError(t, err)
	said := &logged{}
	command.Stderr = said
	require.NoError(t, command.Start())
	lines := bufio.NewReader(stdout)
	url, err := lines.ReadString('\n')
	t.Cleanup(func() {
		_ = stdin.Close()
		_, _ = io.Copy(io.Discard, lines)
		_ = command.Wait()
		if t.Failed() {
			t.Log(said)
		}
	})
	require.NoError(t, err)
	return strings.TrimSuffix(strings.TrimSpace(url), "/")
}

// A stock agent at work answers a conversation behind a worker. The same client that is given the agent's own bytes has
// the same after every turn; a tool of the agent's own, after which it goes on, is part of the answer.
func TestLiveAgentTalks(t *testing.T) {
	t.Parallel()
	agent := newTap(t, live(t))
	c := newChain(t, agent.url)
	turns := []talkTurn{{RunID: "r1", Messages: json.RawMessage(`[{"id":"u1","role":"user","content":"hello"}]`)},
		{RunID: "r2", Messages: json.RawMessage(`[{"id":"u2","role":"user","content":"how are you?"}]`)},
		{RunID: "r3", Messages: json.RawMessage(`[{"id":"u3","role":"user","content":"where am I?"}]`),
			Tools: json.RawMessage(`[{"name":"locate","description":"d","parameters":{"type":"object"}}]`)}}
	through := talk(t, conversation{URL: c.chat, ThreadID: "chat", Turns: turns})[0]
	u := newUpstream(t, func(a *asked) {
		_, body := agent.answer(t, a.n)
		a.say([]byte(body))
	})
	direct := talk(t, conversation{URL: u.url, ThreadID: "chat", Turns: turns})[0]
	for i := range turns {
		require.Equal(t, "finished", direct[i].Outcome, "%+v", direct[i].Error)
		requireSame(t, direct[i], through[i])
	}
	require.Contains(t, string(through[2].Messages), `"locate"`)

	weather := []talkTurn{{RunID: "r1", Messages: json.RawMessage(`[{"id":"u1","role":"user","content":"weather?"}]`)}}
	got := talk(t, conversation{URL: c.chat, ThreadID: "weather", Turns: weather})[0][0]
	require.Equal(t, "finished", got.Outcome, "%+v", got.Error)
	require.Contains(t, string(got.Messages), "🌦️", "what the tool says")
	require.Contains(t, string(got.Messages), "It says", "what the agent says then")
}

// The agent's own interrupts, the approval of a tool, are answered over POST /chat/answer, and it takes the resume that it
// is asked with. All from a chat of nothing but texts.
func TestLiveAgentIsAnswered(t *testing.T) {
	t.Parallel()
	c := newChain(t, live(t))
	send := func(text string) *harness.Seen {
		return c.over(c.post(http.StatusAccepted, "/chat/send", `{"chat_id":"chat","input":{"text":%q}}`, text).RunID)
	}
	send("hello")
	var answers [][]byte
	for _, approved := range []bool{true, false} {
		asked := send("send it")
		require.Equal(t, subjects.ReasonDone, asked.End.Reason)
		var e agui.Event
		require.NoError(t, agui.Scan([]byte(asked.Events[len(asked.Events)-1]), &e))
		interrupts := agui.Interrupts(&e)
		require.Len(t, interrupts, 1)
		saved := c.saved("chat")
		next := c.post(http.StatusOK, "/chat/answer", `{"chat_id":"chat","run_id":%q,"request_id":%q,"outcome":{"approved":%t}}`,
			saved[len(saved)-1].RunID, interrupts[0].ID, approved).RunID
		answer := c.over(next)
		require.Equal(t, subjects.ReasonDone, answer.End.Reason, answer.Events)
		at := slices.Index(answer.Types, "TOOL_CALL_RESULT")
		require.Positive(t, at, answer.Events)
		require.Equal(t, approved, strings.Contains(answer.Events[at], `\"sent\":true`), answer.Events[at])
		require.Contains(t, answer.Types[at:], "TEXT_MESSAGE_END")
		// It starts its answer in the middle of it, which a stock client takes from here.
		var events [][]byte
		for _, event := range answer.Events {
			events = append(events, []byte(event))
		}
		answers = append(answers, frames(events...))
	}
	for _, got := range read(t, served(t, someInput, answers...)...) {
		require.Equal(t, "finished", got.Outcome, "%+v", got.Error)
	}
	// And the conversation goes on.
	require.Equal(t, subjects.ReasonDone, send("thanks").End.Reason)
}
