package consumer

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/rejoin/rejoin/subjects"
)

// Stream is one run being watched, over as many connections as that takes. It
// has no goroutine: everything happens within Next.
type Stream struct {
	watch  Watch
	calls  caller
	ctx    context.Context // ends with the stream; its cause says why
	cancel context.CancelCauseFunc

	turn chan struct{} // held by the one Next or Close at work; guards what follows
	pos  position
	conn *conn // nil between connections
	err  error // final

	named     subjects.RunID // the run to ask for while there is no cursor
	followed  bool
	fruitless int       // attempts in a row that brought nothing
	early     int       // 204s in a row that came before their time
	notBefore time.Time // of the next attempt
	waitUntil time.Time // end of Watch.Wait; zero before the first attempt

	cursor struct {
		sync.Mutex
		run subjects.RunID
		seq uint64
	}
}

// Watch returns the stream of the run that w names. It does not connect; the
// first Next does, and reports what is wrong with c or w. The stream ends with
// ctx; Close ends it too.
func (c *Client) Watch(ctx context.Context, w Watch) *Stream {
	s := &Stream{watch: w, named: w.RunID, turn: make(chan struct{}, 1)}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	client, err := c.settle()
	if err == nil {
		err = w.check()
	}
	if err != nil {
		s.finish(err)
		return s
	}
	s.calls.client = client
	if w.AfterSeq != nil {
		s.pos.start(w.RunID, *w.AfterSeq)
		s.publishCursor()
	}
	return s
}

// Next returns the next frame that is new to the caller, connecting, and coming
// back with the cursor, as often as it takes. Snapshot frames replace what is held,
// also when they name another run than before; Event frames follow without a gap
// or a repeat. Only after the End frame of a run that was saved is the error
// io.EOF; nothing else means that a run is complete.
//
// Other errors are final too: after an End frame ErrSuperseded or ErrPersistence;
// without one ErrIdle, ErrUnavailable, ErrInterrupted, ErrSwitchedOff, ErrTooLarge,
// ErrContentType, an *HTTPError for an answer that no repeat would change,
// ErrClosed, or that of the Watch's context.
//
// ctx bounds this call only: when it ends, Next returns its error within moments,
// the connection is given up, and the next call goes on from the cursor. Calls at
// the same time take turns, each getting frames of its own.
func (s *Stream) Next(ctx context.Context) (Frame, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return Frame{}, ctx.Err()
	}
	for s.err == nil {
		if ctx.Err() != nil {
			return Frame{}, ctx.Err()
		}
		f, deliver, err := s.step(ctx)
		switch {
		case err != nil:
			s.fail(ctx, err)
		case deliver:
			s.publishCursor()
			if f.Type == End {
				s.ended(f)
			}
			return f, nil
		}
	}
	return Frame{}, s.err
}

// Cursor is the last event applied: the run, "" before the first frame, and the
// seq. A Watch with them goes on from there. It may be called at any time.
func (s *Stream) Cursor() (subjects.RunID, uint64) {
	s.cursor.Lock()
	defer s.cursor.Unlock()
	return s.cursor.run, s.cursor.seq
}

// Close ends the stream, not the run. It waits for a Next at work, which ends at
// once, as do those waiting for their turn; no frame is handed out after it has
// returned. Further calls do nothing. The error is always nil.
func (s *Stream) Close() error {
	s.cancel(ErrClosed)
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.err == nil {
		s.finish(ErrClosed)
	}
	return nil
}

// step connects if need be and reads one frame.
func (s *Stream) step(ctx context.Context) (f Frame, deliver bool, err error) {
	if s.conn != nil && s.conn.ctx.Err() != nil {
		s.drop() // a call that was given up had been reading from it
	}
	if s.conn == nil {
		if err := s.connect(ctx); err != nil || s.conn == nil {
			return Frame{}, false, err
		}
	}
	conn := s.conn
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, func() { conn.cancel(context.Cause(ctx)) })()
	}
	if f, err = conn.next(); err != nil {
		return Frame{}, false, err
	}
	v, err := s.pos.apply(f)
	if v.progress {
		conn.fruitful = true
		s.fruitless = 0
	}
	return f, v.deliver, err
}

// ended settles what comes after an End frame.
func (s *Stream) ended(f Frame) {
	switch e := f.End; {
	case e.Superseded && s.watch.Follow:
		s.drop()
		s.pos.leave()
		s.named, s.followed = e.NextRunID, true
	case e.Superseded:
		s.finish(fmt.Errorf("%w (next run %q)", ErrSuperseded, e.NextRunID))
	case !e.Persisted:
		s.finish(fmt.Errorf("%w: %q", ErrPersistence, string(e.Reason)))
	default:
		s.finish(io.EOF)
	}
}

// started reports whether the run asked for is known to have begun.
func (s *Stream) started() bool { return s.pos.held || s.named != "" || s.followed }

// finish makes err the stream's last word.
func (s *Stream) finish(err error) {
	s.err = err
	s.drop()
	s.cancel(err)
}

func (s *Stream) drop() {
	if s.conn != nil {
		s.conn.close()
		s.conn = nil
	}
}

func (s *Stream) publishCursor() {
	s.cursor.Lock()
	defer s.cursor.Unlock()
	s.cursor.run, s.cursor.seq = s.pos.run, s.pos.seq
}
