package uimessages_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/relay/uimessages"
	"github.com/rejoin/rejoin/subjects"
)

// client is what breaks a client of the AI SDK: see its processUIMessageStream.
type client struct {
	begun, over     bool
	open            map[string]bool // kind and id of text and reasoning
	tools           map[string]bool // whether the input is open
	approvals       map[string]bool
	step            map[string]bool // tool calls of the step at hand
	bytes, messages int
}

func newClient() *client {
	return &client{open: map[string]bool{}, tools: map[string]bool{}, approvals: map[string]bool{}, step: map[string]bool{}}
}

func (c *client) take(pieces ...[]byte) error {
	raw := bytes.Join(pieces, nil)
	c.bytes += len(raw)
	c.messages++
	var k struct{ Type, ID, ToolCallID, ApprovalID string }
	if err := json.Unmarshal(raw, &k); err != nil {
		return fmt.Errorf("%w: %.200s", err, raw)
	}
	bad := func(why string) error { return fmt.Errorf("%s: %.200s", why, raw) }
	if c.over {
		return bad("something follows the last chunk")
	}
	if !c.begun && k.Type != "start" || c.begun && k.Type == "start" {
		return bad("start is not the first, or not the only one")
	}
	c.begun = true
	kind, what, _ := strings.Cut(k.Type, "-")
	switch {
	case kind == "text" || kind == "reasoning":
		if open := c.open[kind+k.ID]; open == (what == "start") {
			return bad("it is open, or not")
		}
		c.open[kind+k.ID] = what != "end"
	case k.Type == "start-step":
		for id, open := range c.tools {
			if open {
				return bad("a step begins while the input of " + id + " comes")
			}
		}
		c.step = map[string]bool{}
	case k.Type == "tool-input-start":
		c.tools[k.ToolCallID], c.step[k.ToolCallID] = true, true
	case k.Type == "tool-input-delta":
		if !c.tools[k.ToolCallID] || !c.step[k.ToolCallID] {
			return bad("no such input")
		}
	case k.Type == "tool-input-available", k.Type == "tool-input-error":
		c.tools[k.ToolCallID], c.step[k.ToolCallID] = false, true
	case k.Type == "tool-approval-response":
		if !c.approvals[k.ApprovalID] {
			return bad("no such approval")
		}
	case strings.HasPrefix(k.Type, "tool-"):
		if _, known := c.tools[k.ToolCallID]; !known {
			return bad("no such tool call")
		}
		if k.Type == "tool-approval-request" {
			c.approvals[k.ApprovalID] = true
		}
	case strings.HasPrefix(k.Type, "data-"), k.Type == "start", k.Type == "finish-step":
	case k.Type == "finish", k.Type == "abort", k.Type == "error":
		for part, open := range c.open {
			if open {
				return bad(part + " is open at the end")
			}
		}
		c.over = true
	default:
		return bad("an unknown chunk")
	}
	return nil
}

// Whatever comes, in whatever order, no chunk breaks a client.
func TestNoEventBreaksAClient(t *testing.T) {
	t.Parallel()
	kinds := []string{"RUN_STARTED", "RUN_FINISHED", "STEP_STARTED", "STEP_FINISHED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END",
		"TEXT_MESSAGE_CHUNK", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_CHUNK", "TOOL_CALL_RESULT", "REASONING_MESSAGE_START",
		"REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END", "REASONING_MESSAGE_CHUNK", "THINKING_TEXT_MESSAGE_START", "THINKING_TEXT_MESSAGE_CONTENT",
		"THINKING_TEXT_MESSAGE_END", "ACTIVITY_SNAPSHOT", "STATE_DELTA", "CUSTOM", "RAW", "OTHER", "RUN_ERROR"}
	values := []string{`{"requestId":"q1","options":["allow"],"toolCallId":"a"}`, `{"requestId":"q2","options":["no"]}`, `{"requestId":"a","options":["x"]}`, `{"requestId":"q1","status":"selected","outcome":{"outcome":"selected","optionId":"allow"}}`,
		`{"requestId":"q2","status":"expired"}`, `7`, `null`, `{"id":"x"}`}
	one := func(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 7))
		c := newClient()
		m := uimessages.New("m")
		var events []string
		take := func(pieces ...[]byte) {
			require.NoError(t, c.take(pieces...), "seed %d: %s", seed, strings.Join(events, "\n"))
		}
		n := len(kinds)
		if r.IntN(4) > 0 {
			n-- // without errors, mostly
		}
		for range r.IntN(60) {
			e := fmt.Sprintf(`{"type":%q,"messageId":%s,"toolCallId":%q,"toolCallName":"t","delta":%s,"role":%q,"name":%q,"value":%s,"content":%s,"activityType":"act"}`,
				kinds[r.IntN(n)], one(r, `"a"`, `"b"`, `""`, `7`), one(r, "a", "b", "q1"), one(r, `"{"`, `"}"`, `"\ud83d"`, `5`), one(r, "assistant", "user", ""),
				one(r, "p.request", "p.resolved", "other"), one(r, values...), one(r, `"x"`, `"{\"n\":\n1}"`, `[1]`, `null`))
			events = append(events, e)
			m.Event([]byte(e), take)
		}
		m.End(subjects.End{Reason: subjects.Reason(one(r, "done", "stopped", "error"))}, take)
		require.True(t, c.over)
		require.True(t, m.Over())
	}
}

// What is kept of a run is bounded, and what goes beyond breaks nothing.
func TestBounds(t *testing.T) {
	t.Parallel()
	c := newClient()
	m := uimessages.New("m")
	take := func(pieces ...[]byte) { require.NoError(t, c.take(pieces...)) }
	event := func(format string, args ...any) { m.Event(fmt.Appendf(nil, format, args...), take) }
	for i := range 5000 {
		event(`{"type":"TEXT_MESSAGE_START","messageId":"m%d"}`, i)
		event(`{"type":"TEXT_MESSAGE_START","messageId":"u%d","role":"user"}`, i)
		event(`{"type":"TOOL_CALL_START","toolCallId":"c%d","toolCallName":"t"}`, i)
		event(`{"type":"TOOL_CALL_ARGS","toolCallId":"c%d","delta":"{"}`, i)
		event(`{"type":"CUSTOM","name":"p.request","value":{"requestId":"q%d","options":["a"]}}`, i)
		event(`{"type":"ACTIVITY_SNAPSHOT","messageId":"act%d","activityType":"x","content":{}}`, i)
	}
	for i := range 5000 {
		event(`{"type":"TOOL_CALL_RESULT","toolCallId":"c%d","content":"x"}`, i)
		event(`{"type":"CUSTOM","name":"p.resolved","value":{"requestId":"q%d"}}`, i)
	}
	event(`{"type":"TOOL_CALL_START","toolCallId":"large","toolCallName":"t"}`)
	for range 20 {
		event(`{"type":"TOOL_CALL_ARGS","toolCallId":"large","delta":"%s"}`, strings.Repeat("x", 100<<10))
	}
	var last string
	m.Event([]byte(`{"type":"TOOL_CALL_END","toolCallId":"large"}`), func(pieces ...[]byte) {
		last = string(bytes.Join(pieces, nil))
		take(pieces...)
	})
	require.Equal(t, `{"type":"tool-input-error","toolCallId":"large","toolName":"t","input":null,"dynamic":true,"errorText":"the arguments are too large to be shown"}`, last)
	m.End(subjects.End{Reason: subjects.ReasonDone}, take)
}

func BenchmarkEvent(b *testing.B) {
	m := uimessages.New("m")
	drop := func(...[]byte) {}
	m.Event([]byte(`{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`), drop)
	e := []byte(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"some words of an answer, as they come"}`)
	for b.Loop() {
		m.Event(e, drop)
	}
}
