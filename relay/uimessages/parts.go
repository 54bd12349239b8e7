package uimessages

import (
	"slices"
	"strconv"

	"github.com/rejoin/rejoin/internal/agui"
)

// part is text or reasoning that has begun and not ended. Each kind has ids of its own.
type part struct{ kind, id string }

const (
	text      = "text"
	reasoning = "reasoning"
)

// words takes the events of text and reasoning.
func (m *Mapper) words(kind agui.Type, e fields) {
	id := e.text("messageId")
	switch kind {
	case agui.TextMessageStart:
		if role := e.text("role"); role != "" && role != "assistant" {
			m.setAside(id) // said by somebody else: this message is the assistant's
			return
		}
		delete(m.aside, id)
		m.start(part{text, id})
	case agui.TextMessageContent:
		m.delta(part{text, id}, e["delta"])
	case agui.TextMessageEnd:
		delete(m.aside, id)
		m.end(part{text, id})
	case agui.ReasoningMessageStart:
		m.start(part{reasoning, id})
	case agui.ReasoningMessageContent:
		m.delta(part{reasoning, id}, e["delta"])
	case agui.ReasoningMessageEnd:
		m.end(part{reasoning, id})
	case agui.ThinkingTextMessageStart:
		m.thoughts++
		m.start(m.thought())
	case agui.ThinkingTextMessageContent:
		m.delta(m.thought(), e["delta"])
	case agui.ThinkingTextMessageEnd:
		m.end(m.thought())
	}
}

// thought is the reasoning at hand of the older events, which have no ids.
func (m *Mapper) thought() part { return part{reasoning, "thinking-" + strconv.Itoa(m.thoughts)} }

func (m *Mapper) setAside(id string) {
	if len(m.aside) < maxSeen {
		m.aside[id] = true
	}
}

func (m *Mapper) start(p part) {
	if slices.Contains(m.open, p) {
		return
	}
	if len(m.open) == maxOpen {
		m.end(m.open[0])
	}
	m.open = append(m.open, p)
	m.send(chunk(p.kind+"-start").text("id", p.id))
}

// delta adds to a part; one that has not begun, or has ended, begins.
func (m *Mapper) delta(p part, delta []byte) {
	if !isString(delta) || p.kind == text && m.aside[p.id] {
		return
	}
	m.start(p)
	m.send(chunk(p.kind+"-delta").text("id", p.id).raw("delta", delta))
}

func (m *Mapper) end(p part) {
	i := slices.Index(m.open, p)
	if i < 0 {
		return
	}
	m.open = slices.Delete(m.open, i, i+1)
	m.send(chunk(p.kind+"-end").text("id", p.id))
}
