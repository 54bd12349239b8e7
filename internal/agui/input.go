package agui

import (
	"bytes"
	"encoding/json"
)

// ProtocolVersion is the version of AG-UI that inputs made here are in.
const ProtocolVersion = "1.0"

// UserMessageID is the id of the message that a turn with the input {"text":"…"} has,
// by the fabric's run id. Whatever the agent, it is the same in the run's events, in
// the input of later turns and in what a browser shows.
func UserMessageID(runID string) string { return "user-" + runID }

// IsRunInput reports whether an input is a RunAgentInput: an object that has messages.
func IsRunInput(input json.RawMessage) bool {
	return member(input, "messages") != nil && isObject(input)
}

// Text returns the text of an input of the form {"text":"…"}. An input that has
// messages is a RunAgentInput whatever else it has.
func Text(input json.RawMessage) (string, bool) {
	if !isObject(input) || IsRunInput(input) {
		return "", false
	}
	body, ok := inside(member(input, "text"))
	if !ok {
		return "", false
	}
	return toValid(decode(body)), true
}

// UserText is what the user said last, in an input of either form: the text of the
// newest message whose role is user; "" where there is none.
func UserText(input json.RawMessage) string {
	if text, ok := Text(input); ok {
		return text
	}
	if !isObject(input) {
		return ""
	}
	var last []byte
	for m := range elements(member(input, "messages")) {
		if role, _ := inside(member(m, "role")); same(role, "user") {
			last = m
		}
	}
	content := member(last, "content")
	if body, ok := inside(content); ok {
		return toValid(decode(body))
	}
	text := ""
	for part := range elements(content) {
		if body, ok := inside(member(part, "text")); ok {
			text += toValid(decode(body))
		}
	}
	return text
}

// RunInput makes a RunAgentInput of an input: a RunAgentInput stays as it is, byte for
// byte. Any other object lends it its members, and is given the others: the ids, the
// earlier messages and, where it has a text, the message that says it; tool calls
// before that which have no result are given one that says so.
func RunInput(threadID, runID string, input json.RawMessage, earlier []json.RawMessage) json.RawMessage {
	if IsRunInput(input) {
		return input
	}
	if !isObject(input) {
		input = nil
	}
	var b object
	without := func(key string, value []byte) {
		if given := member(input, key); given != nil {
			value = given
		}
		b.raw(key, value)
	}
	without("threadId", encode(threadID))
	without("runId", encode(runID))
	without("state", []byte("{}"))
	b.raw("messages", messages(runID, input, earlier))
	without("tools", []byte("[]"))
	without("context", []byte("[]"))
	without("forwardedProps", []byte("{}"))
	without("protocolVersion", encode(ProtocolVersion))
	b.copy(input, "text", "threadId", "runId", "state", "messages", "tools", "context", "forwardedProps", "protocolVersion")
	return b.bytes()
}

// WithState gives an input that has no state of its own one. A state that is not an
// object, or {}, changes nothing.
func WithState(input, state json.RawMessage) json.RawMessage {
	if !isObject(input) || !isObject(state) || same(state, "{}") || member(input, "state") != nil {
		return input
	}
	var b object
	b.copy(input)
	b.raw("state", state)
	return b.bytes()
}

// messages is a JSON array of the earlier messages and the one that input has.
func messages(runID string, input json.RawMessage, earlier []json.RawMessage) []byte {
	list := make([][]byte, 0, len(earlier)+1)
	for _, m := range earlier {
		if isObject(m) {
			list = append(list, OneLine(m))
		}
	}
	if text, ok := Text(input); ok {
		list = append(settle(list), userMessage(runID, text))
	}
	return AppendArray(nil, bytes.Join(list, newline))
}

func userMessage(runID, text string) []byte {
	return encode(struct {
		ID      string `json:"id"`
		Role    string `json:"role"`
		Content string `json:"content"`
	}{UserMessageID(runID), "user", text})
}

// InputIDs returns the thread and the run that an input names, "" for none.
func InputIDs(input json.RawMessage) (threadID, runID string) {
	if !isObject(input) {
		return "", ""
	}
	thread, _ := inside(member(input, "threadId"))
	run, _ := inside(member(input, "runId"))
	return toValid(decode(thread)), toValid(decode(run))
}
