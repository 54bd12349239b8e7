package consumer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// DefaultMaxMessage is how many bytes one SSE message may take where nothing
// else is configured. A snapshot is one message, and so may be an event of the
// largest size a relay accepts several times over.
const DefaultMaxMessage = 64 << 20

const (
	readSize  = 32 << 10       // how much is asked of the reader at once
	keepSize  = 1 << 20        // a larger buffer is given back once its message has been used
	maxRetry  = 24 * time.Hour // a longer retry is no time to come back
	maxRepeat = 100            // reads that give nothing before the reader counts as broken
)

// Message is one SSE message that has arrived whole.
type Message struct {
	ID    string // the last id received, with this message or before
	Event string // "" means "message"
	Data  []byte // the data lines joined by '\n', as bytes; valid until the next call of Next
}

// Decoder reads an SSE stream as the WHATWG specification defines it, byte for
// byte and whatever the sizes of the reads: lines end with LF, CR or CRLF and may
// have any length. It is not safe for concurrent use.
type Decoder struct {
	// Limit is how many bytes one message may take; 0 means DefaultMaxMessage.
	// It may be changed between calls of Next.
	Limit int

	in      io.Reader
	buf     []byte
	r, w    int   // buf[r:w] has been read and not been used
	readErr error // what the reader said last, handed out once buf is used up

	first   bool // in the first line, which may begin with a BOM
	afterCR bool // an LF that comes next belongs to the line before
	width   int  // bytes of the current line so far, kept or not
	line    []byte

	open     bool // the current message has a field; it needs its blank line
	over     bool // the current message is above the limit; the rest of it is dropped
	data     []byte
	event    string
	id       string
	retry    time.Duration
	comments uint64
}

// NewDecoder returns a decoder that reads from r. It reads ahead, never more than 32 KiB.
func NewDecoder(r io.Reader) *Decoder {
	return &Decoder{in: r, first: true}
}

// Next returns the next message, once its blank line has arrived. Comments and
// messages without data are passed over.
//
// Errors: io.EOF after the stream ended between messages; io.ErrUnexpectedEOF
// when it ended within one; ErrTooLarge for a message above the limit, after
// which Next goes on with the message behind it; otherwise what the reader gave.
func (d *Decoder) Next() (Message, error) {
	d.reset()
	for {
		line, blank, err := d.readLine()
		switch {
		case err != nil:
			return Message{}, err
		case !blank:
			d.field(line)
			continue
		}
		whole := len(d.data) > 0 && !d.over
		d.open, d.over = false, false
		if whole {
			return Message{ID: d.id, Event: d.event, Data: d.data[:len(d.data)-1]}, nil
		}
		d.reset()
	}
}

// Retry is the last reconnection time the stream has named, 0 if it named none.
func (d *Decoder) Retry() time.Duration { return d.retry }

// Comments counts the comment lines so far: a stream that only sends those is alive.
func (d *Decoder) Comments() uint64 { return d.comments }

// reset makes room for the next message. What is half read when an ErrTooLarge
// has been returned stays as it is.
func (d *Decoder) reset() {
	if cap(d.data) > keepSize {
		d.data = nil
	}
	if cap(d.line) > keepSize {
		d.line = nil
	}
	d.data, d.event = d.data[:0], ""
}

// field takes up one line of a message.
func (d *Decoder) field(line []byte) {
	if d.over {
		return
	}
	name, value, _ := bytes.Cut(line, []byte{':'})
	value = bytes.TrimPrefix(value, []byte{' '})
	switch string(name) {
	case "":
		d.comments++
	case "data":
		d.open = true
		d.data = append(append(d.data, value...), '\n')
	case "event":
		d.open = true
		d.event = string(value)
	case "id":
		d.open = true
		if bytes.IndexByte(value, 0) < 0 {
			d.id = string(value)
		}
	case "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 32); err == nil {
			d.retry = min(time.Duration(ms)*time.Millisecond, maxRetry)
		}
	}
}

// readLine returns the next line without its end, and whether it is blank, which
// a line that was dropped for its size is not. The bytes are good until the next call.
func (d *Decoder) readLine() (line []byte, blank bool, err error) {
	for {
		chunk := d.buf[d.r:d.w]
		if len(chunk) == 0 {
			if err := d.fill(); err != nil {
				return nil, false, err
			}
			continue
		}
		if d.afterCR {
			d.afterCR = false
			if chunk[0] == '\n' {
				d.r++
				continue
			}
		}
		end := lineEnd(chunk)
		if err := d.gather(chunk[:end]); err != nil {
			return nil, false, err
		}
		if end < len(chunk) {
			d.afterCR = chunk[end] == '\r'
			d.r++
			line, blank = d.endLine()
			return line, blank, nil
		}
	}
}

// endLine hands out the line gathered and makes room for the next.
func (d *Decoder) endLine() (line []byte, blank bool) {
	line, blank = d.line, d.width == 0
	d.line, d.width = d.line[:0], 0
	if d.first {
		d.first = false
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
		blank = len(line) == 0
	}
	return line, blank
}

// lineEnd is the index of the first CR or LF in b, len(b) if there is none.
func lineEnd(b []byte) int {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		b = b[:i]
	}
	if i := bytes.IndexByte(b, '\r'); i >= 0 {
		b = b[:i]
	}
	return len(b)
}

// gather uses up a part of a line and keeps it, unless the message is too large.
func (d *Decoder) gather(part []byte) error {
	d.r += len(part)
	d.width += len(part)
	if d.over {
		return nil
	}
	limit := d.Limit
	if limit == 0 {
		limit = DefaultMaxMessage
	}
	if len(d.line)+len(d.data)+len(part) > limit {
		d.over, d.open, d.first = true, true, false
		d.line, d.data = nil, nil
		return fmt.Errorf("%w: above %d bytes", ErrTooLarge, limit)
	}
	d.line = append(d.line, part...)
	return nil
}

// fill reads more, or returns why there is no more.
func (d *Decoder) fill() error {
	if d.buf == nil {
		d.buf = make([]byte, readSize)
	}
	d.r, d.w = 0, 0
	for range maxRepeat {
		switch {
		case errors.Is(d.readErr, io.EOF) && (d.open || d.width > 0):
			return io.ErrUnexpectedEOF
		case d.readErr != nil:
			return d.readErr
		}
		if d.w, d.readErr = d.in.Read(d.buf); d.w > 0 {
			return nil
		}
	}
	return io.ErrNoProgress
}
