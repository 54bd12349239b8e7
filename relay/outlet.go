package relay

import (
	"errors"
	"net/http"
	"time"
)

// outlet is where the bytes of a sink go: through net/http at first, which sends the
// header, and then around it where that can be. Every write has its time.
type outlet struct {
	w        http.ResponseWriter
	rc       *http.ResponseController
	direct   *direct       // nil where there is no way around
	begun    bool          // the header and something of the answer are out
	patience time.Duration // how long one write may take
}

// write passes one chunk on, and says how much of it has gone out.
func (o *outlet) write(b []byte) (int, error) {
	if o.begun && o.direct != nil {
		if err := o.direct.chunk(b, o.patience); err != nil {
			return 0, wrapWrite(err)
		}
		return len(b), nil
	}
	if err := o.deadline(time.Now().Add(o.patience)); err != nil {
		return 0, err
	}
	n, err := o.w.Write(b)
	return n, wrapWrite(err)
}

// flush sends what net/http holds still.
func (o *outlet) flush() error {
	if o.begun && o.direct != nil {
		return nil
	}
	err := o.deadline(time.Now().Add(o.patience))
	if err == nil {
		err = wrapWrite(o.rc.Flush())
	}
	if err == nil {
		// An HTTP/2 stream is reset when its deadline passes, written to or not.
		err = o.deadline(time.Time{})
	}
	o.begun = err == nil
	return err
}

// abandon closes a connection that may have broken off within a chunk: net/http, which does
// not know, would end the answer there and take the next request.
func (o *outlet) abandon() {
	if o.begun && o.direct != nil {
		_ = o.direct.conn.Close()
	}
}

// deadline sets the time by which what is written must be out. A writer that knows
// no deadlines is left without.
func (o *outlet) deadline(t time.Time) error {
	if err := o.rc.SetWriteDeadline(t); !errors.Is(err, http.ErrNotSupported) {
		return wrapWrite(err)
	}
	return nil
}

// canFlush says whether anything behind w can flush. Asking is all it does: Flush
// itself would send the header.
func canFlush(w http.ResponseWriter) bool {
	for {
		switch t := w.(type) {
		case interface{ FlushError() error }, http.Flusher:
			return true
		case interface{ Unwrap() http.ResponseWriter }:
			w = t.Unwrap()
		default:
			return false
		}
	}
}
