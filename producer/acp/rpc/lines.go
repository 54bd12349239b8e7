package rpc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

const (
	readSize = 64 << 10
	// keepSize is how large a buffer for long lines may stay between two of them.
	keepSize = 1 << 20
)

// lineReader reads lines of at most max bytes.
type lineReader struct {
	r    *bufio.Reader
	max  int
	long []byte // a line that is longer than r's buffer
}

func newLineReader(r io.Reader, max int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, readSize), max: max}
}

// next gives the next line without its end, valid until the call after. What follows
// the last line break is a line too, if there is anything.
func (l *lineReader) next() ([]byte, error) {
	if cap(l.long) > keepSize {
		l.long = nil
	}
	l.long = l.long[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		whole := err == nil
		if whole {
			part = part[:len(part)-1]
		}
		if len(l.long)+len(part) > l.max {
			return nil, fmt.Errorf("%w: more than %d bytes", ErrLineTooLong, l.max)
		}
		if whole && len(l.long) == 0 {
			return part, nil
		}
		l.long = append(l.long, part...)
		switch {
		case whole:
			return l.long, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case len(l.long) > 0:
			return l.long, nil // the error comes again, with nothing before it
		default:
			return nil, err
		}
	}
}
