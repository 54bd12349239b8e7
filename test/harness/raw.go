package harness

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/rejoin/rejoin/consumer"
)

// CopyData passes the next line of data on as it stands on the wire, from where mark
// begins, without ever holding more than a piece of it. mark has to be near the line's
// beginning.
func (c *Conn) CopyData(w io.Writer, mark string) error {
	const field = "data: "
	for {
		begin, err := c.in.Peek(len(field))
		if err == nil && string(begin) == field {
			break
		}
		if err == nil {
			err = c.copyLine(io.Discard)
		}
		if err != nil {
			return err
		}
	}
	begin, err := c.in.ReadSlice('\n')
	if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
		return err
	}
	at := bytes.Index(begin, []byte(mark))
	if at < 0 {
		return fmt.Errorf("no %q in %.500q", mark, begin)
	}
	if _, werr := w.Write(bytes.TrimSuffix(begin[at:], []byte{'\n'})); werr != nil || err == nil {
		return werr
	}
	return c.copyLine(w)
}

// copyLine copies the rest of the line, without its break.
func (c *Conn) copyLine(w io.Writer) error {
	for {
		part, err := c.in.ReadSlice('\n')
		if _, err := w.Write(bytes.TrimSuffix(part, []byte{'\n'})); err != nil {
			return err
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// Dense reads a stream to its end, by the ids of its frames alone: after the first one,
// whichever that is, they must rise by one, up to the number of events.
func Dense(body io.Reader, events int) error {
	dec := consumer.NewDecoder(body)
	for seq := -1; ; {
		m, err := dec.Next()
		if err != nil {
			return fmt.Errorf("at %d: %w", seq, err)
		}
		_, at, _ := strings.Cut(m.ID, ":")
		next, err := strconv.Atoi(at)
		switch {
		case err == nil && next == events && seq == next && bytes.HasPrefix(m.Data, []byte(`{"type":"STREAM_END"`)):
			return nil
		case err != nil || seq >= 0 && next != seq+1:
			return fmt.Errorf("%q after %d", m.ID, seq)
		}
		seq = next
	}
}

// Dense is Dense for the rest of an answer.
func (c *Conn) Dense(events int) error { return Dense(c.in, events) }
