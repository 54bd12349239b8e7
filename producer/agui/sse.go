package agui

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// readBuffer is large enough for dozens of events at once.
const readBuffer = 32 << 10

// stream reads the data of an event stream, as browsers do, but for its end: what is
// not followed by an empty line counts as well. Half an event is no JSON, so nothing
// that was cut can pass for whole.
type stream struct {
	r      *bufio.Reader
	max    int // bytes of data in an event
	line   []byte
	begun  bool // the first line is behind
	lineCR bool // the last line ended with \r; a \n after it belongs to that
}

func newStream(r io.Reader, limit int) *stream {
	return &stream{r: bufio.NewReaderSize(r, readBuffer), max: limit}
}

// done is what some servers send as their last event.
const done = "[DONE]"

// next returns the data of the next event that has any, in memory of its own. The
// error is io.EOF at the end, ErrTooLarge, or what reading returned.
func (s *stream) next() ([]byte, error) {
	var data []byte
	lines := 0
	for {
		line, err := s.readLine()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if value, ok := dataOf(line); ok {
			if lines++; lines > 1 {
				data = append(data, '\n')
			}
			if len(data)+len(value) > s.max {
				return nil, s.tooLarge()
			}
			data = append(data, value...)
		}
		if len(line) == 0 || err != nil {
			if word := bytes.TrimSpace(data); len(word) > 0 && string(word) != done {
				return data, nil
			}
			data, lines = nil, 0
		}
		if err != nil {
			return nil, err
		}
	}
}

// dataOf returns the value of a data line.
func dataOf(line []byte) ([]byte, bool) {
	value, ok := bytes.CutPrefix(line, []byte("data"))
	switch {
	case !ok:
		return nil, false
	case len(value) == 0:
		return nil, true
	case value[0] != ':':
		return nil, false
	}
	return bytes.TrimPrefix(value[1:], []byte(" ")), true
}

// readLine returns the next line without its end, valid until the next call. With
// io.EOF comes what stands after the last line end.
func (s *stream) readLine() ([]byte, error) {
	s.line = s.line[:0]
	for {
		if _, err := s.r.Peek(1); err != nil {
			return s.line, err
		}
		buf, _ := s.r.Peek(s.r.Buffered())
		if s.lineCR {
			s.lineCR = false
			if buf[0] == '\n' {
				_, _ = s.r.Discard(1)
				continue
			}
		}
		part, rest := buf, 0
		if i := bytes.IndexByte(part, '\n'); i >= 0 {
			part, rest = part[:i], 1
		}
		if i := bytes.IndexByte(part, '\r'); i >= 0 {
			part, rest = part[:i], 1
			s.lineCR = true
		}
		if len(s.line)+len(part) > s.max+len("data: ") {
			return nil, s.tooLarge()
		}
		s.line = append(s.line, part...)
		_, _ = s.r.Discard(len(part) + rest)
		if rest > 0 {
			if !s.begun {
				s.begun = true
				return bytes.TrimPrefix(s.line, []byte("\ufeff")), nil
			}
			return s.line, nil
		}
	}
}

func (s *stream) tooLarge() error {
	return fmt.Errorf("%w; allowed are %d bytes", ErrTooLarge, s.max)
}
