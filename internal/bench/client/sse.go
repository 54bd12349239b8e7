package client

import (
	"bytes"
	"fmt"
	"time"
)

const (
	dataField = "data: "
	idField   = "id: "

	// begin is how much of a data line has to be there before it is handed on: enough
	// to tell its type.
	begin = len(dataField) + 32

	// longestLine is for lines that are no data, which are short.
	longestLine = 4 << 10
)

// sse finds the messages in the body of a stream. It knows what the relay and the floor
// send: one data line a message, a space after each colon, \n at the end of lines.
type sse struct {
	handler Handler
	frame   Frame
	run     []byte // what frame.Run points to
	line    []byte // the begin of a line whose rest has not come
	inData  bool   // in the midst of a data line
	open    bool   // a data line has come, its blank line has not
}

func (s *sse) reset(h Handler) {
	*s = sse{handler: h, run: s.run[:0], line: s.line[:0]}
}

// feed takes the next piece.
func (s *sse) feed(b []byte, at time.Time) error {
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n')
		switch {
		case s.inData && end < 0:
			s.emit(b, false, at)
			return nil
		case s.inData:
			s.inData = false
			b = s.dataEnd(b[:end], b[end+1:], at)
		case end < 0:
			return s.keep(b, at)
		case len(s.line) > 0:
			s.line = append(s.line, b[:end]...)
			rest, err := s.whole(s.line, b[end+1:], at)
			if s.line = s.line[:0]; err != nil {
				return err
			}
			b = rest
		default:
			rest, err := s.whole(b[:end], b[end+1:], at)
			if err != nil {
				return err
			}
			b = rest
		}
	}
	return nil
}

// whole takes a whole line, and gives what of rest remains.
func (s *sse) whole(line, rest []byte, at time.Time) ([]byte, error) {
	switch {
	case len(line) == 0:
		if s.open {
			s.open = false
			s.emit(nil, true, at)
		}
	case bytes.HasPrefix(line, []byte(dataField)):
		if s.open {
			return nil, fmt.Errorf("%w: a message of two data lines", ErrProtocol)
		}
		data := line[len(dataField):]
		s.begin(data)
		return s.dataEnd(data, rest, at), nil
	case bytes.HasPrefix(line, []byte(idField)):
		return rest, s.id(line[len(idField):])
	case line[len(line)-1] == '\r':
		return nil, fmt.Errorf("%w: a line ends with CR", ErrProtocol)
	}
	return rest, nil // comments, retry, event
}

// dataEnd hands on the rest of a data line; if the blank line is there, the message is
// complete with it.
func (s *sse) dataEnd(data, rest []byte, at time.Time) []byte {
	if len(rest) > 0 && rest[0] == '\n' {
		s.emit(data, true, at)
		return rest[1:]
	}
	s.open = true
	s.emit(data, false, at)
	return rest
}

// keep takes the begin of a line.
func (s *sse) keep(b []byte, at time.Time) error {
	line := b
	if len(s.line) > 0 {
		s.line = append(s.line, b...)
		line = s.line
	}
	if len(line) >= begin && bytes.HasPrefix(line, []byte(dataField)) {
		if s.open {
			return fmt.Errorf("%w: a message of two data lines", ErrProtocol)
		}
		s.begin(line[len(dataField):])
		s.inData = true
		s.emit(line[len(dataField):], false, at)
		s.line = s.line[:0]
		return nil
	}
	if len(line) > longestLine {
		return fmt.Errorf("%w: a line of more than %d bytes: %.40q", ErrProtocol, longestLine, line)
	}
	if len(s.line) == 0 {
		s.line = append(s.line, b...)
	}
	return nil
}

func (s *sse) begin(data []byte) {
	s.frame.Type, s.frame.First = typeOf(data), true
	s.frame.Run = s.run
}

func (s *sse) emit(data []byte, last bool, at time.Time) {
	s.frame.Data, s.frame.Last = data, last
	s.handler.Frame(&s.frame, at)
	s.frame.First, s.frame.Data = false, nil
}

// id reads <run>:<seq>.
func (s *sse) id(id []byte) error {
	i := bytes.LastIndexByte(id, ':')
	seq, ok := number(id[i+1:])
	if i < 0 || !ok {
		return fmt.Errorf("%w: the id %.60q", ErrProtocol, id)
	}
	s.run = append(s.run[:0], id[:i]...)
	s.frame.Seq = seq
	return nil
}

// number reads up to 18 digits and nothing else.
func number(b []byte) (n uint64, ok bool) {
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, len(b) > 0 && len(b) <= 18
}
