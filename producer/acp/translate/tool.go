package translate

import (
	"cmp"
	"unicode/utf8"

	"github.com/rejoin/rejoin/internal/agui"
)

// maxToolName is how many bytes of a title serve as a tool's name at most.
const maxToolName = 200

// call is one tool call.
type call struct {
	n      int
	id     string  // AG-UI's
	record *record // all updates of it, merged
	final  bool    // its input is: TOOL_CALL_END is out
	done   bool    // its TOOL_CALL_RESULT is out
}

// toolCall takes tool_call, tool_call_update, and the call that a permission request is
// about. Which of them starts a call does not matter: some agents only send updates.
func (t *Translator) toolCall(kind string, u *record) (*call, error) {
	agentID := plain(u.values["toolCallId"])
	if agentID == "" {
		return nil, malformed(kind, `its "toolCallId" has to be a non-empty string`)
	}
	c := t.byID[agentID]
	if c == nil {
		c = t.startCall(agentID, u)
	}
	c.record.merge(u.without("sessionUpdate"))
	t.report(c)
	return c, nil
}

func (t *Translator) startCall(agentID string, u *record) *call {
	t.closeMessage()
	c := &call{n: len(t.calls) + 1, record: &record{}}
	c.id = t.id("tool", c.n)
	t.calls = append(t.calls, c)
	t.byID[agentID] = c
	t.send(newEvent(agui.ToolCallStart).str("toolCallId", c.id).str("toolCallName", toolName(u)))
	return c
}

// report tells how a call stands.
func (t *Translator) report(c *call) {
	status := plain(c.record.values["status"])
	over := status == "completed" || status == "failed" || status == "cancelled"
	if over || status == "in_progress" {
		t.finalInput(c)
	}
	t.send(newEvent(agui.ActivitySnapshot).str("messageId", t.id("activity", c.n)).str("activityType", "acp.tool_call").
		raw("content", c.record.json()).raw("replace", []byte("true")))
	if over && !c.done {
		c.done = true
		t.send(newEvent(agui.ToolCallResult).str("messageId", t.id("result", c.n)).str("toolCallId", c.id).
			str("content", outcome(c.record)).str("role", "tool"))
	}
}

// finalInput says what a call's arguments are, once: AG-UI cannot take back what it has
// been told of them. What agents change later shows in the call's record.
func (t *Translator) finalInput(c *call) {
	if c.final {
		return
	}
	c.final = true
	input := string(c.record.values["rawInput"])
	if isNull([]byte(input)) {
		input = "{}" // clients parse what there is, and nothing does not parse
	}
	for delta := range deltas(quote(input)) {
		t.send(newEvent(agui.ToolCallArgs).str("toolCallId", c.id).raw("delta", delta))
	}
	t.send(newEvent(agui.ToolCallEnd).str("toolCallId", c.id))
}

// toolName is what to call the tool.
func toolName(u *record) string {
	name := cmp.Or(plain(u.values["name"]), plain(u.values["kind"]), plain(u.values["title"]), "tool")
	if len(name) > maxToolName {
		name = name[:maxToolName]
		for !utf8.ValidString(name) {
			name = name[:len(name)-1]
		}
	}
	return name
}
