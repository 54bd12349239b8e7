package uimessages

import (
	"bytes"

	"github.com/rejoin/rejoin/internal/agui"
)

// data shows what has no part of its own: activities as parts that a newer one of the same id
// replaces; everything else in passing, for who listens, since it is no part of a message.
func (m *Mapper) data(kind agui.Type, e fields, raw []byte) {
	switch kind {
	case agui.ActivitySnapshot:
		m.activity(e)
	case agui.ActivityDelta:
		m.pass("data-activity-delta", raw)
	case agui.StateSnapshot:
		m.pass("data-state", e["snapshot"])
	case agui.StateDelta:
		m.pass("data-state-delta", e["delta"])
	case agui.MessagesSnapshot:
		m.pass("data-messages", e["messages"])
	case agui.Raw:
		m.pass("data-raw", e["event"])
	default:
		m.pass("data-event", raw)
	}
}

func (m *Mapper) activity(e fields) {
	kind, id := "data-"+e.text("activityType"), e.text("messageId")
	if bytes.Equal(e["replace"], []byte("false")) && m.seen[id] {
		return
	}
	if len(m.seen) < maxSeen {
		m.seen[id] = true
	}
	m.send(chunk(kind).text("id", id).raw("data", e["content"]))
}

func (m *Mapper) pass(kind string, value []byte) {
	m.send(chunk(kind).raw("data", value).yes("transient"))
}
