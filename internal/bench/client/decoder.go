package client

import (
	"bytes"
	"fmt"
	"strconv"
	"time"
)

const (
	longestHead = 32 << 10
	longestBody = 64 << 10 // that is kept; of a longer one the begin is
)

// decoder reads the answers on one connection, one after the other. It may be given them
// in pieces of any size.
type decoder struct {
	step   func(*decoder, []byte, time.Time) ([]byte, error)
	kept   []byte // the begin of a head or a line whose rest has not come
	status int
	stream bool // the body is SSE
	sse    sse
	body   []byte // of an answer that is no stream
	left   uint64 // of the body, or of its chunk

	handler Handler
}

// expect says who is told of the next answer. One that is under way must be over.
func (d *decoder) expect(h Handler) {
	d.handler = h
	d.sse.reset(h)
	if d.step == nil {
		d.step = (*decoder).head
	}
}

// feed takes what was read at a time.
func (d *decoder) feed(b []byte, at time.Time) (err error) {
	for len(b) > 0 && err == nil {
		b, err = d.step(d, b, at)
	}
	return err
}

// head gathers the head of an answer.
func (d *decoder) head(b []byte, at time.Time) ([]byte, error) {
	head := b
	if len(d.kept) > 0 {
		head = append(d.kept, b...)
	}
	end := bytes.Index(head, []byte("\r\n\r\n"))
	if end < 0 {
		if len(head) > longestHead {
			return nil, fmt.Errorf("%w: a head of more than %d bytes", ErrProtocol, longestHead)
		}
		d.kept = append(d.kept[:0], head...)
		return nil, nil
	}
	rest := b[end+4-len(d.kept):]
	err := d.parse(head[:end])
	d.kept = d.kept[:0]
	if err != nil {
		return nil, err
	}
	switch {
	case d.status < 200: // something else follows
		d.step = (*decoder).head
	case d.status == 204 || d.status == 304, d.step == nil && d.left == 0:
		d.done(at)
	case d.step == nil:
		d.step = (*decoder).plain
	}
	return rest, nil
}

// parse reads a head and says by step how the body comes: nil is by its length.
func (d *decoder) parse(head []byte) error {
	line, rest, _ := bytes.Cut(head, []byte("\r\n"))
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) || len(line) < len("HTTP/1.1 200") {
		return fmt.Errorf("%w: it begins with %.40q", ErrProtocol, line)
	}
	status, ok := number(line[9:12])
	if !ok {
		return fmt.Errorf("%w: it begins with %.40q", ErrProtocol, line)
	}
	d.status, d.stream, d.left, d.step = int(status), false, 0, nil
	for len(rest) > 0 {
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if d.left, ok = number(value); !ok {
				return fmt.Errorf("%w: a length of %.40q", ErrProtocol, value)
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			d.step = (*decoder).size
		case bytes.EqualFold(name, []byte("Content-Type")):
			d.stream = bytes.HasPrefix(value, []byte("text/event-stream"))
		}
	}
	return nil
}

// plain takes a body of known length.
func (d *decoder) plain(b []byte, at time.Time) ([]byte, error) {
	n := min(d.left, uint64(len(b)))
	if err := d.take(b[:n], at); err != nil {
		return nil, err
	}
	if d.left -= n; d.left == 0 {
		d.done(at)
	}
	return b[n:], nil
}

// size takes the line before a chunk.
func (d *decoder) size(b []byte, _ time.Time) ([]byte, error) {
	line, rest, err := d.line(b)
	if line == nil || err != nil {
		return nil, err
	}
	if i := bytes.IndexByte(line, ';'); i >= 0 {
		line = line[:i]
	}
	n, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 63)
	if err != nil {
		return nil, fmt.Errorf("%w: a chunk of %.40q bytes", ErrProtocol, line)
	}
	d.kept = d.kept[:0]
	if d.left, d.step = n, (*decoder).chunk; n == 0 {
		d.step = (*decoder).trailer
	}
	return rest, nil
}

// chunk takes the bytes of a chunk.
func (d *decoder) chunk(b []byte, at time.Time) ([]byte, error) {
	n := min(d.left, uint64(len(b)))
	if err := d.take(b[:n], at); err != nil {
		return nil, err
	}
	if d.left -= n; d.left == 0 {
		d.step = (*decoder).chunkEnd
	}
	return b[n:], nil
}

// chunkEnd takes the line break behind a chunk.
func (d *decoder) chunkEnd(b []byte, _ time.Time) ([]byte, error) {
	line, rest, err := d.line(b)
	if line == nil || err != nil {
		return nil, err
	}
	if len(line) > 0 {
		return nil, fmt.Errorf("%w: a chunk is followed by %.40q", ErrProtocol, line)
	}
	d.kept = d.kept[:0]
	d.step = (*decoder).size
	return rest, nil
}

// trailer takes what may follow the last chunk.
func (d *decoder) trailer(b []byte, at time.Time) ([]byte, error) {
	line, rest, err := d.line(b)
	if line == nil || err != nil {
		return nil, err
	}
	if len(line) == 0 {
		d.done(at)
	}
	d.kept = d.kept[:0]
	return rest, nil
}

// line finds a line that ends with CR LF, and is empty but not nil where there is nothing
// before it. nil says that it has not come whole. It may lie in kept, which the caller
// empties.
func (d *decoder) line(b []byte) (line, rest []byte, err error) {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		if d.kept = append(d.kept, b...); len(d.kept) > longestLine {
			return nil, nil, fmt.Errorf("%w: a line of more than %d bytes", ErrProtocol, longestLine)
		}
		return nil, nil, nil
	}
	line, rest = b[:i], b[i+1:]
	if len(d.kept) > 0 {
		d.kept = append(d.kept, line...)
		line = d.kept
	}
	if len(line) == 0 || line[len(line)-1] != '\r' {
		return nil, nil, fmt.Errorf("%w: a line without CR: %.40q", ErrProtocol, line)
	}
	return line[:len(line)-1], rest, nil
}

// take is given the bytes of the body.
func (d *decoder) take(b []byte, at time.Time) error {
	if d.stream {
		return d.sse.feed(b, at)
	}
	d.body = append(d.body, b[:min(len(b), longestBody-len(d.body))]...)
	return nil
}

// done is the end of an answer.
func (d *decoder) done(at time.Time) {
	status, body := d.status, d.body
	d.left, d.step, d.body = 0, (*decoder).head, d.body[:0]
	d.sse.reset(d.handler)
	d.handler.Answer(status, body, at)
}
