package ingest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// readBuffer is what is read of a body at once.
const readBuffer = 64 << 10

// errBody is a body that broke off: its last line is not known to be whole.
var errBody = errors.New("the body broke off")

// lines reads a body line by line, each no longer than limit. A line ends with \n or
// \r\n or, the last one, with the body. Lines of white space alone are counted and
// passed over.
type lines struct {
	r     *bufio.Reader
	limit int
	n     int    // the line read last, from 1
	long  []byte // a line that is longer than the reader's buffer
	room  *room
	taken int64 // of room
}

// newLines reads a body. close gives back the room that its lines take.
func newLines(body io.Reader, limit int, room *room) *lines {
	return &lines{r: bufio.NewReaderSize(body, min(readBuffer, limit+2)), limit: limit, room: room}
}

// close is for the end of a body, or of reading it.
func (l *lines) close() {
	l.room.give(l.taken)
	l.taken, l.long = 0, nil
}

// next gives the next line, valid until the following call. At the body's end it
// returns io.EOF; a line that is too long is a problem, a body that broke off errBody.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.read()
		if errors.Is(err, errNoRoom) {
			l.n++
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if len(line) == 0 && err != nil {
			return nil, io.EOF
		}
		l.n++
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'})
		if len(line) > l.limit {
			return nil, tooLarge(l.limit)
		}
		if len(bytes.TrimLeft(line, " \t\r")) > 0 {
			return line, nil
		}
	}
}

// read gives one line with its line break, or what is enough to see that it is too long.
func (l *lines) read() ([]byte, error) {
	l.long = l.long[:0]
	if l.taken > 0 {
		l.close() // one large event is no reason to hold its room for as long as the body is open
	}
	for {
		part, err := l.r.ReadSlice('\n')
		switch {
		case err == nil || errors.Is(err, io.EOF):
			if len(l.long) == 0 {
				return part, err
			}
			if none := l.grow(len(part)); none != nil {
				return nil, none
			}
			l.long = append(l.long, part...)
			return l.long, err
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("%w: %w", errBody, err)
		}
		if err := l.grow(len(part)); err != nil {
			return nil, err
		}
		l.long = append(l.long, part...)
		if len(l.long) > l.limit+2 {
			return l.long, nil
		}
	}
}

// grow takes the room that n more bytes of a line need.
func (l *lines) grow(n int) error {
	for int64(len(l.long)+n) > freeRoom+l.taken {
		if !l.room.take(roomStep) {
			return errNoRoom
		}
		l.taken += roomStep
	}
	return nil
}
