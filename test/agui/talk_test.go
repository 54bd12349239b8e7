package agui_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// answer is a run of an agent by hand: the events, between RUN_STARTED and a RUN_FINISHED with more.
func (a *asked) answer(more string, events ...string) []byte {
	ids := fmt.Sprintf(`"threadId":%q,"runId":%q`, a.ThreadID, a.RunID)
	body := "data: {\"type\":\"RUN_STARTED\"," + ids + "}\n\n"
	for _, e := range events {
		body += "data: " + e + "\n\n"
	}
	return []byte(body + "data: {\"type\":\"RUN_FINISHED\"," + ids + more + "}\n\n")
}

// says is the events of a message.
func says(id, text string) []string {
	return []string{
		fmt.Sprintf(`{"type":"TEXT_MESSAGE_START","messageId":%q,"role":"assistant"}`, id),
		fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":%q,"delta":%q}`, id, text),
		fmt.Sprintf(`{"type":"TEXT_MESSAGE_END","messageId":%q}`, id),
	}
}

// calls is the events of a tool call that the page answers.
func calls(id, name, args string) []string {
	return []string{
		fmt.Sprintf(`{"type":"TOOL_CALL_START","toolCallId":%q,"toolCallName":%q}`, id, name),
		fmt.Sprintf(`{"type":"TOOL_CALL_ARGS","toolCallId":%q,"delta":%q}`, id, args),
		fmt.Sprintf(`{"type":"TOOL_CALL_END","toolCallId":%q}`, id),
	}
}

// A conversation of several turns, in which the page answers tool calls and the state grows, is the same with the agent
// itself and behind a worker: in every turn the client has the same, and the agent is asked the same.
func TestStockClientTalks(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, func(a *asked) {
		var messages []struct{ Role, Content string }
		_ = json.Unmarshal(a.Messages, &messages)
		n := len(messages)
		switch last := messages[n-1]; {
		case last.Role == "tool":
			a.say(a.answer("", append(says(fmt.Sprint("m", n), "It says "+last.Content),
				`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/seen/-","value":`+fmt.Sprintf("%q", last.Content)+`}]}`)...))
		case strings.Contains(last.Content, "where"):
			a.say(a.answer("", append(calls("c1", "locate", `{"precise":true}`), calls("c2", "clock", "{}")...)...))
		default:
			a.say(a.answer(`,"result":{"n":`+fmt.Sprint(n)+`}`, append(says(fmt.Sprint("m", n), "You said "+last.Content),
				`{"type":"STATE_SNAPSHOT","snapshot":{"seen":[]}}`)...))
		}
	})
	c := newChain(t, u.url)
	tools := json.RawMessage(`[{"name":"locate","description":"d","parameters":{"type":"object"}},{"name":"clock","description":"d","parameters":{"type":"object"}}]`)
	turns := []talkTurn{
		{RunID: "r1", Messages: json.RawMessage(`[{"id":"u1","role":"user","content":"hello 🙏 <b>"}]`)},
		{RunID: "r2", Messages: json.RawMessage(`[{"id":"u2","role":"user","content":"where am I?"}]`), Tools: tools},
		{RunID: "r3", Messages: json.RawMessage(`[{"id":"t1","role":"tool","toolCallId":"c1","content":"Kraków"},{"id":"t2","role":"tool","toolCallId":"c2","content":"noon"}]`), Tools: tools},
		{RunID: "r4", Messages: json.RawMessage(`[{"id":"u4","role":"user","content":[{"type":"text","text":"thanks"}]}]`)},
	}
	requireSameTalk(t, u, c, turns)
}

// requireSameTalk holds a conversation with the agent itself and one behind a worker, and returns what was the same.
func requireSameTalk(t *testing.T, u *upstream, c *chain, turns []talkTurn) ([]verdict, []*asked) {
	t.Helper()
	both := talk(t, conversation{URL: u.url, ThreadID: "chat", Turns: turns}, conversation{URL: c.chat, ThreadID: "chat", Turns: turns})
	asked := u.requests()
	require.Len(t, asked, 2*len(turns))
	for i, direct := range both[0] {
		require.NotEqual(t, "rejected", direct.Outcome, "%+v", direct.Error)
		requireSame(t, direct, both[1][i])
		require.Equal(t, asked[i].body, asked[len(turns)+i].body)
	}
	return both[0], asked[:len(turns)]
}

// sameAsked compares what two agents were asked, but for the ids of chats and runs.
func sameAsked(t *testing.T, want, got *asked) {
	t.Helper()
	without := func(a *asked) (v map[string]any) {
		require.NoError(t, json.Unmarshal([]byte(a.body), &v))
		delete(v, "runId")
		delete(v, "threadId")
		return v
	}
	require.Equal(t, without(want), without(got))
}
