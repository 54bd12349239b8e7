package agui

import (
	"bytes"
	"encoding/json"
)

// Messages are the messages of a chat, as its turns make them one after the other: what
// a client would send along with the next one. The zero value has none.
//
// It does to messages what a client does, except that reasoning, activity and the
// metadata of events are left out. Deltas are joined as they are written, so a character that was split over two of
// them is whole again. It holds what it is given and is not safe for concurrent use.
type Messages struct {
	list []*message
	text []byte // the message and the call that a chunk without an id belongs to
	call []byte
}

// message is one of them. Its strings are bodies as written.
type message struct {
	raw     []byte // all of it, as long as nothing was added
	id      []byte
	role    []byte
	content []byte // a JSON value; nil for none
	calls   []*toolCall
	more    object // the other members
}

type toolCall struct {
	raw        []byte // all of it, as long as nothing was added
	id         []byte
	name, args []byte
}

// AddTurn adds a turn: its input, and its events as NDJSON, folded or not. A
// RunAgentInput has all messages of its chat, so it takes the place of what there is,
// unless it has none of that, and then it goes behind. On an error the events before
// the offending line are in.
func (m *Messages) AddTurn(runID string, input json.RawMessage, ndjson []byte) error {
	m.addInput(runID, input)
	m.text, m.call = nil, nil
	var e Event
	for line := range Lines(ndjson) {
		if err := Scan(line, &e); err != nil {
			return err
		}
		m.add(&e)
	}
	return nil
}

// List returns the messages, oldest first.
func (m *Messages) List() []json.RawMessage {
	list := make([]json.RawMessage, 0, len(m.list))
	for _, one := range m.list {
		list = append(list, one.json())
	}
	return list
}

func (m *Messages) addInput(runID string, input json.RawMessage) {
	if text, ok := Text(input); ok {
		if raw := userMessage(runID, text); m.find([]byte(ident(raw, "id"))) == nil {
			m.list = append(m.list, parse(raw))
		}
		return
	}
	if !IsRunInput(input) {
		return
	}
	var all []*message
	known := false
	for raw := range elements(member(input, "messages")) {
		if one := parse(raw); one != nil {
			all = append(all, one)
			known = known || m.find(one.id) != nil
		}
	}
	if known {
		m.list = nil
	}
	m.list = append(m.list, all...)
}

// add does to the messages what an event says.
func (m *Messages) add(e *Event) {
	switch e.Type {
	case TextMessageStart:
		m.startText(e)
	case TextMessageContent:
		id, _ := e.text("messageId")
		m.write(id, e)
	case TextMessageChunk:
		if id, ok := e.text("messageId"); ok {
			m.startText(e)
			m.text = bytes.Clone(id)
		}
		m.write(m.text, e)
	case ToolCallStart:
		m.startCall(e)
	case ToolCallArgs:
		id, _ := e.text("toolCallId")
		m.argue(id, e)
	case ToolCallChunk:
		if id, ok := e.text("toolCallId"); ok {
			m.startCall(e)
			m.call = bytes.Clone(id)
		}
		m.argue(m.call, e)
	case ToolCallResult:
		m.result(e)
	case MessagesSnapshot:
		m.replace(e.field("messages"))
	}
}

func (m *Messages) startText(e *Event) {
	id, ok := e.text("messageId")
	if !ok || m.find(id) != nil {
		return
	}
	one := &message{id: bytes.Clone(id), role: []byte("assistant"), content: []byte(`""`)}
	if role, ok := e.text("role"); ok {
		one.role = bytes.Clone(role)
	}
	one.keep(e, "name", "subagentRunId")
	m.list = append(m.list, one)
}

// write adds a delta to a message.
func (m *Messages) write(id []byte, e *Event) {
	delta, ok := e.text("delta")
	if one := m.find(id); ok && one != nil {
		one.open()
		if _, ok := inside(one.content); !ok {
			one.content = []byte(`""`)
		}
		one.content = append(append(one.content[:len(one.content)-1], delta...), '"')
	}
}

// startCall adds a tool call to the message that is its parent, which may have to be
// made.
func (m *Messages) startCall(e *Event) {
	id, ok := e.text("toolCallId")
	if !ok {
		return
	}
	name, _ := e.text("toolCallName")
	if one, call := m.findCall(id); call != nil {
		if len(name) > 0 && !alike(call.name, name) {
			one.open()
			call.raw, call.name = nil, bytes.Clone(name)
		}
		return
	}
	parent, named := e.text("parentMessageId")
	one := m.find(parent)
	if !named || one == nil || !same(one.role, "assistant") {
		if !named || one != nil {
			parent = id
		}
		one = &message{id: bytes.Clone(parent), role: []byte("assistant")}
		one.keep(e, "subagentRunId")
		m.list = append(m.list, one)
	}
	one.open()
	one.calls = append(one.calls, &toolCall{id: bytes.Clone(id), name: bytes.Clone(name)})
}

// argue adds a delta to a tool call's arguments.
func (m *Messages) argue(id []byte, e *Event) {
	delta, ok := e.text("delta")
	if one, call := m.findCall(id); ok && call != nil {
		one.open()
		call.raw = nil
		call.args = append(call.args, delta...)
	}
}

// result puts a tool message behind its call and the results that are there.
func (m *Messages) result(e *Event) {
	id, ok := e.text("toolCallId")
	messageID, _ := e.text("messageId")
	content := e.field("content")
	if !ok || content == nil {
		return
	}
	one := &message{id: bytes.Clone(messageID), role: []byte("tool"), content: bytes.Clone(content)}
	one.more.raw("toolCallId", quoted(id))
	one.keep(e, "subagentRunId")
	at := len(m.list)
	if parent, _ := m.findCall(id); parent != nil {
		for at = m.index(parent) + 1; at < len(m.list) && same(m.list[at].role, "tool"); {
			at++
		}
	}
	m.list = append(m.list, nil)
	copy(m.list[at+1:], m.list[at:])
	m.list[at] = one
}

// replace does what a MESSAGES_SNAPSHOT says: what it lacks goes, what it has is
// replaced in its place, what is new goes behind.
func (m *Messages) replace(array []byte) {
	var given, list []*message
	for raw := range elements(array) {
		if one := parse(raw); one != nil {
			given = append(given, one)
		}
	}
	in := func(list []*message, id []byte) *message { return (&Messages{list: list}).find(id) }
	for _, old := range m.list {
		if one := in(given, old.id); one != nil {
			list = append(list, one)
		}
	}
	for _, one := range given {
		if in(list, one.id) == nil {
			list = append(list, one)
		}
	}
	m.list = list
}
