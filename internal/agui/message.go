package agui

import (
	"bytes"
	"encoding/json"
)

// find looks for a message from the newest to the oldest.
func (m *Messages) find(id []byte) *message {
	for i := len(m.list) - 1; i >= 0; i-- {
		if alike(m.list[i].id, id) {
			return m.list[i]
		}
	}
	return nil
}

func (m *Messages) findCall(id []byte) (*message, *toolCall) {
	for i := len(m.list) - 1; i >= 0; i-- {
		for _, call := range m.list[i].calls {
			if alike(call.id, id) {
				return m.list[i], call
			}
		}
	}
	return nil, nil
}

func (m *Messages) index(of *message) int {
	for i, one := range m.list {
		if one == of {
			return i
		}
	}
	return -1
}

// parse reads a message that is given whole; nil for reasoning, activity and what is
// no message.
func parse(raw []byte) *message {
	role, ok := inside(member(raw, "role"))
	if !ok || same(role, "reasoning") || same(role, "activity") {
		return nil
	}
	id, _ := inside(member(raw, "id"))
	one := &message{raw: OneLine(bytes.Clone(raw)), id: bytes.Clone(id), role: bytes.Clone(role)}
	for call := range elements(member(raw, "toolCalls")) {
		f := member(call, "function")
		id, _ := inside(member(call, "id"))
		name, _ := inside(member(f, "name"))
		args, _ := inside(member(f, "arguments"))
		one.calls = append(one.calls, &toolCall{bytes.Clone(call), bytes.Clone(id), bytes.Clone(name), bytes.Clone(args)})
	}
	return one
}

// open takes a message that was given whole apart, so that something can be added.
func (one *message) open() {
	if one.raw == nil {
		return
	}
	one.content = bytes.Clone(member(one.raw, "content"))
	one.more.copy(one.raw, "id", "role", "content", "toolCalls")
	one.raw = nil
}

// keep adds members of an event that are strings.
func (one *message) keep(e *Event, keys ...string) {
	for _, key := range keys {
		if body, ok := e.text(key); ok {
			one.more.raw(key, quoted(body))
		}
	}
}

func (one *message) json() json.RawMessage {
	if one.raw != nil {
		return one.raw
	}
	var b object
	b.raw("id", quoted(one.id))
	b.raw("role", quoted(one.role))
	if one.content != nil {
		b.raw("content", one.content)
	}
	if len(one.calls) > 0 {
		var lines []byte
		for _, call := range one.calls {
			lines = append(append(lines, OneLine(call.json())...), '\n')
		}
		b.raw("toolCalls", AppendArray(nil, lines))
	}
	b.copy(one.more.bytes())
	return b.bytes()
}

func (c *toolCall) json() []byte {
	if c.raw != nil {
		return c.raw
	}
	var f, b object
	f.raw("name", quoted(c.name))
	f.raw("arguments", quoted(c.args))
	b.raw("id", quoted(c.id))
	b.text("type", "function")
	b.raw("function", f.bytes())
	return b.bytes()
}
