package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"time"

	"github.com/rejoin/rejoin/consumer"
)

// maxReopened is how often a stream may be closed on an observer before its end: relays
// close streams by age, and when they drain.
const maxReopened = 3

// retryPause is how long to stay away from a relay that took no connection.
const retryPause = 100 * time.Millisecond

// observer follows the run strictly. Its hooks may be nil.
type observer struct {
	p        *prober
	ledger   ledger
	attached func()                      // once, when the first stream is open
	each     func(*consumer.Frame) error // after each frame; errLeft leaves
	reopened int
}

// observe makes an observer of the run. from is its cursor, nil for none.
func (p *prober) observe(from *uint64) *observer {
	o := &observer{p: p, ledger: ledger{plan: &p.plan, run: p.run}}
	if from != nil {
		o.ledger.seq, o.ledger.cursor = *from, true
	}
	return o
}

// run follows the run and says in words what came of it.
func (o *observer) run(ctx context.Context, w watch) (string, error) {
	err := o.follow(ctx, w)
	return o.seen(), err
}

// follow reads to the end of the run, or until a hook leaves, which is no error. A stream
// that is closed before is opened again at the cursor.
func (o *observer) follow(ctx context.Context, w watch) error {
	ctx, cancel := context.WithTimeoutCause(ctx, o.p.cfg.length()+6*o.p.cfg.Patience, errors.New("it takes far longer than the run does"))
	defer cancel()
	for {
		wait, err := o.connection(ctx, w)
		if errors.Is(err, errLeft) {
			return nil
		}
		if err == nil || !closedEarly(err) {
			return err
		}
		if o.reopened++; o.reopened > maxReopened {
			return fmt.Errorf("closed without an end %d times, at last after seq %d: %w", o.reopened, o.ledger.seq, err)
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
		if w.run = o.p.run; o.ledger.cursor {
			w.after = at(o.ledger.seq)
		}
	}
}

// connection opens a stream and reads it. wait is how long to stay away before another.
func (o *observer) connection(ctx context.Context, w watch) (wait time.Duration, err error) {
	s, err := o.p.attach(ctx, w)
	if err != nil {
		return retryPause, err
	}
	defer s.close()
	if o.attached != nil {
		o.attached()
		o.attached = nil
	}
	o.ledger.begun = false
	err = o.read(s)
	return min(s.dec.Retry(), time.Second), err
}

// read reads one stream to the end.
func (o *observer) read(s *stream) error {
	for {
		id, f, err := s.next()
		if err != nil {
			return err
		}
		if err := o.ledger.apply(id, &f); err != nil {
			return err
		}
		if o.each != nil {
			if err := o.each(&f); err != nil {
				return err
			}
		}
		if f.Type == consumer.End {
			break
		}
	}
	if _, f, err := s.next(); err == nil {
		return fmt.Errorf("%s after the end", f.Type)
	} else if !closedEarly(err) {
		return fmt.Errorf("not closed after the end: %w", err)
	}
	return nil
}

// closedEarly says whether a connection was closed, by whatever is between, or not taken
// by a relay that is about to leave.
func closedEarly(err error) bool {
	var status *statusError
	if errors.As(err, &status) {
		return status.status == http.StatusServiceUnavailable || status.status == http.StatusBadGateway
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
}

// seen says in words what the observer got.
func (o *observer) seen() string {
	s := o.ledger.got()
	if o.reopened > 0 {
		s += fmt.Sprintf("; closed before and taken up again: %d times", o.reopened)
	}
	return s
}

// sleep waits, but not longer than ctx lasts.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
