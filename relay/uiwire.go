package relay

import (
	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/relay/uimessages"
)

// uiWire is the wire of the AI SDK's UI message stream: one assistant message, told from its
// beginning each time. Its clients take the end of a response for success. So what a relay
// cuts short it breaks off, which they know for a lost network and come back from; over
// HTTP/1.0, where nobody can tell the two apart, it is an error.
type uiWire struct {
	messageID string // "" means the run's id
	ends      bool   // an end of the response looks like any other
	mapper    *uimessages.Mapper
	cut       bool // the response is to be broken off
}

// uiHeader says which stream it is, and its version.
const uiHeader, uiVersion = "X-Vercel-Ai-Ui-Message-Stream", "v1"

func (u *uiWire) name() string { return "ui" }

func (u *uiWire) frame(c *chunks, f *consumer.Frame) error {
	emit := func(pieces ...[]byte) { c.message(pieces) }
	if u.mapper == nil {
		id := u.messageID
		if id == "" {
			id = string(f.RunID)
		}
		u.mapper = uimessages.New(id)
	} else if f.Type == consumer.Snapshot { // which replaces what was told, and here nothing can
		u.breakOff(c)
		return errLegacyGap
	}
	switch f.Type {
	case consumer.Snapshot:
		for event := range f.Folded().Lines() {
			u.mapper.Event(event, emit)
		}
	case consumer.Event:
		u.mapper.Event(f.Event, emit)
	case consumer.End:
		u.mapper.End(f.End, emit)
		c.text("data: [DONE]\n\n")
	}
	return nil
}

func (u *uiWire) leave(c *chunks, _ cause) { u.breakOff(c) }

func (u *uiWire) breakOff(c *chunks) {
	if !u.ends {
		u.cut = true
		return
	}
	c.text(`data: {"type":"error","errorText":"the connection was closed before the run ended"}` + "\n\n")
}

// message appends one message whose data is JSON in pieces.
func (c *chunks) message(pieces [][]byte) {
	c.text("data: ")
	for _, p := range pieces {
		c.json(p)
	}
	c.text("\n\n")
}
