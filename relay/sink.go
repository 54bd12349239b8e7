package relay

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/rejoin/rejoin/consumer"
)

// linger is how long a frame that is ready may wait in the buffer for company. A
// live stream flushes by itself when it has nothing more to write; this is for one
// whose next frame has to be fetched from the broker first.
const linger = 20 * time.Millisecond

// errWrite wraps what kept bytes from getting out: os.ErrDeadlineExceeded for an
// observer that has stalled, anything else for a connection that broke.
var errWrite = errors.New("writing to the observer")

// sink is the way to one observer. It buffers, flushes, keeps the connection alive
// when nothing else is sent, and cuts off an observer that has stopped reading.
//
// Its timer is what keeps a stream alive while its handler waits for the broker,
// for a snapshot or for the producer: no goroutine stands behind it in between. All
// writing happens under mu, so that nothing comes between the parts of a frame.
type sink struct {
	w         http.ResponseWriter
	rc        *http.ResponseController
	keepAlive time.Duration // the longest time without a byte
	patience  time.Duration // how long one write may take
	failed    func(error)   // told once, when a write has failed; must not block
	overdue   func() bool   // whether others wait for what is being written; may be nil
	spread    spreader      // how long to stay away should this break

	mu     sync.Mutex
	out    chunks
	timer  *time.Timer
	soon   bool // the timer is set to linger
	closed bool
	bytes  uint64
}

func newSink(w http.ResponseWriter, keepAlive, patience time.Duration, failed func(error)) *sink {
	s := &sink{w: w, rc: http.NewResponseController(w), keepAlive: keepAlive, patience: patience, failed: failed}
	s.out.send = s.write
	s.mu.Lock()
	defer s.mu.Unlock()
	// Set only once it is known here, since tick may set it without the lock.
	s.timer = time.AfterFunc(time.Hour, s.tick)
	s.timer.Reset(keepAlive)
	return s
}

// cutWhen cuts the observer off when overdue says so.
func (s *sink) cutWhen(overdue func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.overdue = overdue
}

// spreadOver tells the observer from now on within which time to come back should this
// break; nil ends that.
func (s *sink) spreadOver(over func() time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spread.over = over
}

// put appends what encode appends; it goes out with the next flush, or sooner.
func (s *sink) put(encode func(*chunks)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out.err != nil {
		return s.out.err
	}
	encode(&s.out)
	if s.out.err != nil {
		s.failed(s.out.err)
		return s.out.err
	}
	if len(s.out.buf) > 0 && !s.soon {
		s.soon = true
		s.timer.Reset(linger)
	}
	return nil
}

// comment sends a comment at once.
func (s *sink) comment() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.need(keepSize)
	s.out.buf = consumer.AppendComment(s.out.buf, "")
	return s.flushLocked()
}

// flush sends what has gathered.
func (s *sink) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.out.buf) == 0 {
		return s.out.err
	}
	return s.flushLocked()
}

func (s *sink) flushLocked() error {
	if s.out.err != nil {
		return s.out.err
	}
	s.out.need(keepSize)
	s.out.buf = s.spread.append(s.out.buf) // a frame is never open here
	s.out.pass()
	if s.out.err == nil {
		s.out.err = s.deadline(time.Now().Add(s.patience))
	}
	if s.out.err == nil {
		s.out.err = wrapWrite(s.rc.Flush())
	}
	if s.out.err == nil {
		// An HTTP/2 stream is reset when its deadline passes, written to or not.
		s.out.err = s.deadline(time.Time{})
	}
	if s.out.err != nil {
		s.failed(s.out.err)
		return s.out.err
	}
	s.out.shrink()
	s.soon = false
	s.timer.Reset(s.keepAlive)
	return nil
}

// write passes one chunk on, within the time that one may take.
func (s *sink) write(b []byte) error {
	if s.overdue != nil && s.overdue() {
		return errOverdue
	}
	if err := s.deadline(time.Now().Add(s.patience)); err != nil {
		return err
	}
	n, err := s.w.Write(b)
	s.bytes += uint64(n)
	return wrapWrite(err)
}

func wrapWrite(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errWrite, err)
}

// deadline sets the time by which what is written must be out. A writer that knows
// no deadlines is left without.
func (s *sink) deadline(t time.Time) error {
	if err := s.rc.SetWriteDeadline(t); !errors.Is(err, http.ErrNotSupported) {
		return wrapWrite(err)
	}
	return nil
}

// tick runs on the timer: it flushes what lingers, or sends a comment.
func (s *sink) tick() {
	if !s.mu.TryLock() {
		s.timer.Reset(linger) // something is being written at this moment
		return
	}
	defer s.mu.Unlock()
	if s.closed || s.out.err != nil {
		return
	}
	if len(s.out.buf) == 0 {
		s.out.buf = consumer.AppendComment(s.out.buf, "")
	}
	_ = s.flushLocked() // failed has been told
}

// close flushes and ends the sink: when it returns, nothing is written any more.
// The deadline is left standing, for the end of the response that follows.
func (s *sink) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.out.buf) > 0 {
		_ = s.flushLocked()
	}
	s.closed = true
	s.timer.Stop()
	_ = s.deadline(time.Now().Add(s.patience))
}

// written is how many bytes have gone out.
func (s *sink) written() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
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
