package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// errInput is wrapped by the error of an input that cannot be read.
var errInput = errors.New("the input")

// line is one event of the input.
type line struct {
	n     int // its number, from 1; empty lines count
	event []byte
}

// lines reads the input, one line ahead of whoever takes them.
type lines struct {
	next chan line // closed at the end
	quit chan struct{}
	err  error // why there are no more; nil at the end of the input. Set before next is closed
}

// readLines begins to read. The reader is let go by stop, but a read that waits for input
// ends only with that input: the process's own end is what ends it.
func readLines(in io.Reader, limit int) *lines {
	l := &lines{next: make(chan line), quit: make(chan struct{})}
	go l.read(bufio.NewReaderSize(in, 64<<10), limit)
	return l
}

func (l *lines) stop() { close(l.quit) }

func (l *lines) read(in *bufio.Reader, limit int) {
	defer close(l.next)
	for n := 1; ; n++ {
		b, err := readLine(in, limit)
		if err != nil && !errors.Is(err, io.EOF) {
			l.err = fmt.Errorf("line %d of %w: %w", n, errInput, err)
			return
		}
		if b = bytes.TrimSpace(b); len(b) > 0 {
			select {
			case l.next <- line{n, b}:
			case <-l.quit:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// readLine reads up to a line break and at most limit bytes. At the end of the input
// it returns what there is and io.EOF.
func readLine(in *bufio.Reader, limit int) ([]byte, error) {
	var b []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(b)+len(bytes.TrimRight(part, "\r\n")) > limit {
			return nil, fmt.Errorf("larger than %d bytes, see --max-event", limit)
		}
		b = append(b, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return b, err
		}
	}
}
