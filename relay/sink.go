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
// stream flushes by itself when it has nothing more to write; this is for one whose
// next frame has to be fetched from the broker first.
const linger = 20 * time.Millisecond

// errWrite wraps what kept bytes from getting out: os.ErrDeadlineExceeded for an
// observer that has stalled, anything else for a connection that broke.
var errWrite = errors.New("writing to the observer")

// sink is the way to one observer. It buffers, flushes, keeps the connection alive
// when nothing else is sent, and cuts off an observer that has stopped reading.
//
// Its timer is what keeps a stream alive while its handler waits for the broker,
// for a snapshot or for the producer: no goroutine stands behind it in between. It is
// left alone by what is written, and set again when it finds that it has come too soon:
// at a token's pace it runs once for hundreds of frames. All writing happens under mu, so
// that nothing comes between the parts of a frame. While it is lent, nothing is written
// here at all.
type sink struct {
	out       outlet
	keepAlive time.Duration // the longest time without a byte
	failed    func(error)   // told once, when a write has failed; must not block
	overdue   func() bool   // whether others wait for what is being written; may be nil
	spread    spreader      // how long to stay away should this break

	mu     sync.Mutex
	gather chunks
	buf    *buffer // that of gather; nil while that is empty
	timer  *time.Timer
	soon   bool // what has gathered lingers: the timer is set to that
	lent   bool // to a row
	closed bool
	last   time.Time // when something went out
	bytes  uint64
}

func newSink(w http.ResponseWriter, d *direct, keepAlive, patience time.Duration, failed func(error)) *sink {
	s := &sink{out: outlet{w: w, rc: http.NewResponseController(w), direct: d, patience: patience}, keepAlive: keepAlive, failed: failed}
	s.gather.send = s.write
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
	if s.gather.err != nil {
		return s.gather.err
	}
	encode(s.open())
	return s.gathered()
}

// frame appends a frame; refused is the wire's error.
func (s *sink) frame(on wire, f *consumer.Frame) (refused, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gather.err != nil {
		return nil, s.gather.err
	}
	refused = on.frame(s.open(), f)
	return refused, s.gathered()
}

// open gives the buffer to append to. Callers hold mu.
func (s *sink) open() *chunks {
	if s.buf == nil {
		s.buf = takeBuffer()
		s.gather.buf = s.buf.b
	}
	return &s.gather
}

// gathered follows what was appended. Callers hold mu.
func (s *sink) gathered() error {
	if s.gather.err != nil {
		return s.fail(s.gather.err)
	}
	return nil
}

// lingers says that the next flush may be long in coming: what has gathered does not wait
// for it.
func (s *sink) lingers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.gather.buf) > 0 && !s.soon {
		s.soon = true
		s.timer.Reset(linger)
	}
}

// comment sends a comment at once.
func (s *sink) comment() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open().need(keepSize)
	s.gather.buf = consumer.AppendComment(s.gather.buf, "")
	return s.flushLocked()
}

// flush sends what has gathered.
func (s *sink) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.gather.buf) == 0 {
		return s.gather.err
	}
	return s.flushLocked()
}

func (s *sink) flushLocked() error {
	if s.gather.err != nil {
		return s.gather.err
	}
	s.open().need(keepSize)
	s.gather.buf = s.spread.append(s.gather.buf) // a frame is never open here
	s.gather.pass()
	if s.gather.err == nil {
		s.gather.err = s.out.flush()
	}
	if s.gather.err != nil {
		return s.fail(s.gather.err)
	}
	s.buf.b, s.gather.buf = s.gather.buf, nil
	s.buf.giveBack()
	s.buf = nil
	s.soon, s.last = false, time.Now()
	return nil
}

// fail notes why nothing more is written, and tells it before the connection is closed, which
// would look as if the observer had left. Callers hold mu.
func (s *sink) fail(err error) error {
	s.gather.err = err
	s.failed(err)
	s.out.abandon()
	return err
}

// write passes one chunk on, within the time that one may take.
func (s *sink) write(b []byte) error {
	if s.overdue != nil && s.overdue() {
		return errOverdue
	}
	n, err := s.out.write(b)
	s.bytes += uint64(n)
	return err
}

func wrapWrite(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errWrite, err)
}

// tick runs on the timer: it flushes what lingers, or sends a comment where that is due.
func (s *sink) tick() {
	if !s.mu.TryLock() {
		s.timer.Reset(linger) // something is being written at this moment
		return
	}
	defer s.mu.Unlock()
	if s.closed || s.lent || s.gather.err != nil {
		return
	}
	if s.soon || s.silence() <= 0 {
		if len(s.gather.buf) == 0 {
			s.open()
			s.gather.buf = consumer.AppendComment(s.gather.buf, "")
		}
		if s.flushLocked() != nil {
			return // failed has been told
		}
	}
	s.timer.Reset(s.silence())
}

// silence is how long nothing need be written from now on. Callers hold mu.
func (s *sink) silence() time.Duration { return s.keepAlive - time.Since(s.last) }

// close flushes and ends the sink: when it returns, nothing is written any more.
// The deadline is left standing, for the end of the response that follows.
func (s *sink) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.gather.buf) > 0 {
		_ = s.flushLocked()
	}
	s.closed = true
	s.timer.Stop()
	_ = s.out.deadline(time.Now().Add(s.out.patience))
}

// written is how many bytes have gone out.
func (s *sink) written() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}
