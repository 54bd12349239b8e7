package translate

import (
	"encoding/json"

	"github.com/rejoin/rejoin/internal/agui"
)

// voice is what kind of message text goes to.
type voice int

const (
	text voice = iota
	thought
)

// message is the one that is open: text goes to one message at a time.
type message struct {
	id    string
	voice voice
	agent string // the agent's id for it, "" when it gave none
}

// chunk takes agent_message_chunk and agent_thought_chunk.
func (t *Translator) chunk(v voice, u *record, line []byte) error {
	block, err := parseObject(u.values["content"])
	if err != nil {
		return malformed("update", `the "content" of a chunk has to be a content block, which is an object`)
	}
	kind := plain(block.values["type"])
	if kind == "" {
		return malformed("update", `the "type" of a content block has to be a non-empty string`)
	}
	if kind != "text" {
		t.closeMessage()
		t.send(newEvent(agui.Custom).str("name", "acp.content").raw("value", line))
		return nil
	}
	said := block.values["text"]
	if !isString(said) {
		return malformed("update", `the "text" of a text block has to be a string`)
	}
	t.openMessage(v, plain(u.values["messageId"]))
	kinds := [...]agui.Type{text: agui.TextMessageContent, thought: agui.ReasoningMessageContent}
	meta := extras(u, block)
	for delta := range deltas(said) {
		e := newEvent(kinds[v]).str("messageId", t.open.id).raw("delta", delta)
		if meta != nil {
			e = e.raw("metadata", meta)
		}
		t.send(e)
	}
	return nil
}

// openMessage makes sure that the right message is open. A chunk without an id goes on
// with what is open; agents give ids to all chunks of a message or to none.
func (t *Translator) openMessage(v voice, agent string) {
	if m := t.open; m != nil && m.voice == v && (agent == "" || agent == m.agent) {
		return
	}
	t.closeMessage()
	t.messages++
	m := &message{voice: v, agent: agent}
	t.open = m
	if v == text {
		m.id = t.id("text", t.messages)
		t.send(newEvent(agui.TextMessageStart).str("messageId", m.id).str("role", "assistant"))
		return
	}
	m.id = t.id("thought", t.messages)
	t.send(newEvent(agui.ReasoningStart).str("messageId", m.id))
	t.send(newEvent(agui.ReasoningMessageStart).str("messageId", m.id).str("role", "reasoning"))
}

func (t *Translator) closeMessage() {
	m := t.open
	if m == nil {
		return
	}
	t.open = nil
	if m.voice == text {
		t.send(newEvent(agui.TextMessageEnd).str("messageId", m.id))
		return
	}
	t.send(newEvent(agui.ReasoningMessageEnd).str("messageId", m.id))
	t.send(newEvent(agui.ReasoningEnd).str("messageId", m.id))
}

// extras is what a chunk says besides its text, as metadata of its event, nil for nothing.
// It keeps what AG-UI has no place for, such as which sub-agent speaks.
func extras(u, block *record) json.RawMessage {
	rest := u.without("sessionUpdate", "messageId", "content").filled()
	if more := block.without("type", "text").filled(); len(more.keys) > 0 {
		rest.set("content", more.json())
	}
	if len(rest.keys) == 0 {
		return nil
	}
	outer := &record{}
	outer.set("acp", rest.json())
	return outer.json()
}
