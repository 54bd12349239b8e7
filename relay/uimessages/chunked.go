package uimessages

import "github.com/rejoin/rejoin/internal/agui"

// chunked is what the events with their own start have open: they carry their ids from one
// to the next, and any event in between that is not about something else ends it.
type chunked struct {
	kind agui.Type
	id   string
}

// goesBeside says whether an event leaves open what chunks have begun.
func goesBeside(kind agui.Type) bool {
	switch kind {
	case agui.Raw, agui.ActivitySnapshot, agui.ActivityDelta, agui.ReasoningEncryptedValue,
		agui.SubagentStarted, agui.SubagentFinished, agui.SubagentError:
		return true
	}
	return false
}

// chunkID is the id that a chunk names, "" for none.
func chunkID(kind agui.Type, e fields) string {
	if kind == agui.ToolCallChunk {
		return e.text("toolCallId")
	}
	return e.text("messageId")
}

// endChunked ends what chunks have begun, unless the event goes on with it.
func (m *Mapper) endChunked(kind agui.Type, e fields) {
	c := m.chunked
	if c == nil {
		return
	}
	if kind == c.kind {
		if id := chunkID(kind, e); id == "" || id == c.id {
			return
		}
	}
	m.chunked = nil
	switch c.kind {
	case agui.TextMessageChunk:
		m.end(part{text, c.id})
	case agui.ReasoningMessageChunk:
		m.end(part{reasoning, c.id})
	case agui.ToolCallChunk:
		m.callEnd(c.id)
	}
}

// chunk takes an event with its own start. One that begins something needs an id.
func (m *Mapper) chunk(kind agui.Type, e fields) {
	id := chunkID(kind, e)
	if m.chunked == nil {
		if id == "" {
			return
		}
		m.chunked = &chunked{kind, id}
		switch kind {
		case agui.TextMessageChunk:
			m.words(agui.TextMessageStart, e)
		case agui.ReasoningMessageChunk:
			m.start(part{reasoning, id})
		case agui.ToolCallChunk:
			m.callStart(id, e.text("toolCallName"))
		}
	}
	id = m.chunked.id
	if delta := e["delta"]; isString(delta) {
		switch kind {
		case agui.TextMessageChunk:
			m.delta(part{text, id}, delta)
		case agui.ReasoningMessageChunk:
			m.delta(part{reasoning, id}, delta)
		case agui.ToolCallChunk:
			m.callArgs(id, delta)
		}
	}
}
