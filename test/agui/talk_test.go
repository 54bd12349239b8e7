package agui_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

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
