package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// errBody is a body that broke off: its last line is not known to be whole.
var errBody = errors.New("the body broke off")

// mostLines is how many lines are given out at once.
const mostLines = 256

// lines reads a body line by line, each no longer than limit, and gives out together those
// that have arrived. A line ends with \n or \r\n or, the last one, with the body. Lines of
// white space alone are counted and passed over.
type lines struct {
	body  io.Reader
	limit int

	buf  []byte // what was read; what lies before at is needed only where it is kept
	at   int    // where the next line begins
	seen int    // buf[at:seen] has no line break
	kept bool   // all that was read stays in buf, see rewind
	err  error  // why nothing more can be read

	n     int // the line before the next one, from 1
	given [][]byte

	room  *room
	taken int64 // of room
}

// newLines reads a body. size is its length, -1 where that is unknown; kept says that it
// may have to be read again. close gives back the memory that it takes.
func newLines(body io.Reader, limit int, room *room, size int64, kept bool) *lines {
	return &lines{body: body, limit: limit, room: room, buf: newBuffer(min(size, largeBuffer)), kept: kept}
}

// close is for the end of a body, or of reading it. No line is valid any more.
func (l *lines) close() {
	l.room.give(l.taken)
	recycle(l.buf)
	l.taken, l.buf, l.at, l.seen = 0, nil, 0, 0
}

// rewind goes back to the first line of a body that is kept.
func (l *lines) rewind() { l.at, l.seen, l.n, l.given = 0, 0, 0, l.given[:0] }

// forget says that there will be no rewind.
func (l *lines) forget() { l.kept = false }

// whole says that nothing more of the body is waited for.
func (l *lines) whole() bool { return l.err != nil }

// next gives the lines that are there, at least one, and without blank ones between them. The
// first is line n+1. They are valid until the following call. At the body's end the error
// is io.EOF; a line n that is too long is a problem, a body that broke off errBody.
func (l *lines) next() ([][]byte, error) {
	l.n += len(l.given)
	l.given = l.given[:0]
	for len(l.given) < mostLines {
		line, end, ok := l.line()
		blank, long := len(bytes.TrimLeft(line, " \t\r")) == 0, len(line) > l.limit
		switch {
		case len(l.given) > 0 && (!ok || blank || long):
			return l.given, nil
		case !ok:
			if err := l.fill(); err != nil {
				return nil, err
			}
			continue
		}
		l.at, l.seen = end, end
		switch {
		case long:
			l.n++
			return nil, tooLarge(l.limit)
		case blank:
			l.n++
		default:
			l.given = append(l.given, line)
		}
	}
	return l.given, nil
}

// line looks for the next line, and where the one behind it begins.
func (l *lines) line() (line []byte, end int, ok bool) {
	if i := bytes.IndexByte(l.buf[l.seen:], '\n'); i >= 0 {
		line, end = l.buf[l.at:l.seen+i], l.seen+i+1
	} else if l.seen = len(l.buf); l.seen > l.at && errors.Is(l.err, io.EOF) {
		line, end = l.buf[l.at:], len(l.buf)
	} else {
		return nil, 0, false
	}
	return bytes.TrimSuffix(line, []byte{'\r'}), end, true
}

// fill reads more of the body.
func (l *lines) fill() error {
	if l.err != nil {
		return l.err
	}
	if err := l.makeRoom(); err != nil {
		l.n++
		return err
	}
	n, err := l.body.Read(l.buf[len(l.buf):cap(l.buf)])
	l.buf = l.buf[:len(l.buf)+n]
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", errBody, err)
	}
	l.err = err
	return nil
}

// makeRoom makes room in the buffer for more of a line that is not too long yet.
func (l *lines) makeRoom() error {
	if len(l.buf)-l.at >= l.limit+2 {
		return tooLarge(l.limit)
	}
	if !l.kept && l.at > 0 {
		l.shift()
	}
	if len(l.buf) < cap(l.buf) {
		return nil
	}
	size := larger(cap(l.buf))
	if !l.kept {
		size = min(size, l.limit+2)
	}
	for int64(size) > freeRoom+l.taken {
		if !l.room.take(roomStep) {
			return errNoRoom
		}
		l.taken += roomStep
	}
	l.move(newBuffer(int64(size)))
	return nil
}

// shift forgets the lines that were given out. One large event is no reason to hold its room for
// as long as the body is open.
func (l *lines) shift() {
	rest := copy(l.buf, l.buf[l.at:])
	l.buf, l.seen, l.at = l.buf[:rest], l.seen-l.at, 0
	if cap(l.buf) > largeBuffer && rest < largeBuffer {
		l.move(newBuffer(largeBuffer))
		l.room.give(l.taken)
		l.taken = 0
	}
}

// move goes on in another buffer.
func (l *lines) move(to []byte) {
	to = append(to, l.buf...)
	recycle(l.buf)
	l.buf = to
}
