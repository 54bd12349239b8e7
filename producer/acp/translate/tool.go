package translate

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/rejoin/rejoin/internal/agui"
)

const (
	// maxToolName is how many bytes of a title serve as a tool's name at most.
	maxToolName = 200
	// maxCalls and maxKept bound what is known of a turn's calls: far more than any
	// person looks at, and little beside what a worker needs for one agent's process.
	maxCalls = 4096
	maxKept  = 64 << 20
)

// call is one tool call.
type call struct {
	n      int
	id     string  // AG-UI's
	agent  string  // the agent's
	record *record // all updates of it, merged
	final  bool    // its input is: TOOL_CALL_END is out
	done   bool    // its TOOL_CALL_RESULT is out
}

// toolCall takes tool_call, tool_call_update, and the call that a permission request is
// about. Which of them starts a call does not matter: some agents only send updates.
func (t *Translator) toolCall(what string, u *record) (*call, error) {
	agentID := plain(u.values["toolCallId"])
	if agentID == "" {
		return nil, malformed(what, `its "toolCallId" has to be a non-empty string`)
	}
	c := t.byID[agentID]
	if c == nil {
		c = t.startCall(agentID, u)
	}
	t.kept -= c.record.size
	c.record.merge(u.without("sessionUpdate"))
	if c.record.size > maxKept {
		c.record = c.record.essence()
	}
	t.kept += c.record.size
	t.report(c)
	t.forget(c)
	return c, nil
}

func (t *Translator) startCall(agentID string, u *record) *call {
	t.closeMessage()
	t.started++
	c := &call{n: t.started, id: t.id("tool", t.started), agent: agentID, record: &record{}}
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
		raw("content", t.shown(c.record).json()).raw("replace", []byte("true")))
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
	input := c.record.values["rawInput"]
	if isNull(input) {
		input = []byte("{}") // clients parse what there is, and nothing does not parse
	}
	for delta := range deltas(quote(string(input))) {
		t.send(newEvent(agui.ToolCallArgs).str("toolCallId", c.id).raw("delta", delta))
	}
	t.send(newEvent(agui.ToolCallEnd).str("toolCallId", c.id))
}

// closeCall ends a call that its agent has not ended.
func (t *Translator) closeCall(c *call, status string) {
	if !c.done {
		c.record.set("status", json.RawMessage(status))
		t.report(c)
	}
}

// forget keeps what is known of calls within bounds. The oldest ones go, those that are
// over first; an agent that comes back to one of them starts a new call.
func (t *Translator) forget(but *call) {
	for len(t.calls) > 1 && (len(t.calls) > maxCalls || t.kept > maxKept) {
		i := max(0, slices.IndexFunc(t.calls, func(c *call) bool { return c.done && c != but }))
		if t.calls[i] == but {
			i++
		}
		c := t.calls[i]
		t.closeCall(c, `"cancelled"`)
		t.kept -= c.record.size
		delete(t.byID, c.agent)
		t.calls = slices.Delete(t.calls, i, i+1)
	}
}

// toolName is what to call the tool.
func toolName(u *record) string {
	name := cmp.Or(plain(u.values["name"]), plain(u.values["kind"]), plain(u.values["title"]), "tool")
	return cut(name, maxToolName)
}
