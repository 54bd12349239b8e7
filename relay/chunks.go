package relay

import (
	"bytes"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/agui"
)

const (
	// chunkSize is how much goes out in one write. The time for a write is bounded
	// and not that for a frame, so that a slow reader of a 50 MiB snapshot need only
	// take 64 KiB in that time.
	chunkSize = 64 << 10

	// frameRoom is more than what a frame has besides its events.
	frameRoom = 1 << 10

	// keepSize is how large a buffer is to begin with, and more than a comment and what
	// goes with it.
	keepSize = 4 << 10
)

// chunks gathers what is to be written and passes it on in chunks, so that a frame
// of any size goes out through a buffer of bounded size. After an error nothing
// more is passed on.
type chunks struct {
	buf  []byte
	send func([]byte) error // does not keep what it is given
	err  error
}

// need makes room for n more bytes, n not above chunkSize.
func (c *chunks) need(n int) {
	if len(c.buf)+n > chunkSize {
		c.pass()
	}
}

// pass hands on what has gathered.
func (c *chunks) pass() {
	if c.err == nil && len(c.buf) > 0 {
		c.err = c.send(c.buf)
	}
	c.buf = c.buf[:0]
}

func (c *chunks) text(s string) { c.add([]byte(s), false) }

// json appends raw JSON. Line breaks, which it can have only between its tokens,
// become spaces: one left in would end an SSE line.
func (c *chunks) json(b []byte) { c.add(b, true) }

func (c *chunks) add(b []byte, oneLine bool) {
	for len(b) > 0 && c.err == nil {
		if len(c.buf) >= chunkSize {
			c.pass()
		}
		from := len(c.buf)
		n := min(len(b), chunkSize-from)
		c.buf = append(c.buf, b[:n]...)
		if oneLine {
			agui.Flatten(c.buf[from:])
		}
		b = b[n:]
	}
}

// array appends events as a JSON array.
func (c *chunks) array(events consumer.NDJSON) {
	c.text("[")
	first := true
	for event := range events.Lines() {
		if !first {
			c.text(",")
		}
		first = false
		c.json(event)
	}
	c.text("]")
}

// frame appends a frame in its SSE form: the bytes that AppendSSE gives, without
// ever holding more than a chunk of them.
func (c *chunks) frame(f *consumer.Frame) {
	events := f.Folded()
	if n := len(f.Event) + events.Len() + frameRoom; n <= chunkSize {
		c.need(n)
		c.buf = f.AppendSSE(c.buf)
		return
	}
	hollow := *f
	hollow.Event, hollow.Events, hollow.Parts = nil, nil, nil
	shell := hollow.AppendSSE(nil)
	if f.Type == consumer.Event {
		c.add(bytes.TrimSuffix(shell, []byte("null}\n\n")), false)
		c.json(f.Event)
	} else {
		c.add(bytes.TrimSuffix(shell, []byte("[]}\n\n")), false)
		c.array(events)
	}
	c.text("}\n\n")
}

// legacy appends one event in the legacy form.
func (c *chunks) legacy(event []byte) {
	c.text("data: ")
	c.json(event)
	c.text("\n\n")
}
