package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/rejoin/rejoin/consumer"
)

// maxReopened is how often a stream may be closed on an observer before its end: relays
// close streams by age, and when they drain.
const maxReopened = 3

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
		s, err := o.p.attach(ctx, w)
		if err != nil {
			return err
		}
		if o.attached != nil {
			o.attached()
			o.attached = nil
		}
		o.ledger.begun = false
		err = o.read(s)
		wait := min(s.dec.Retry(), time.Second)
		s.close()
		if errors.Is(err, errLeft) {
			return nil
		}
		if err == nil || !closedEarly(err) {
			return err
		}
		if o.reopened++; o.reopened > maxReopened {
			return fmt.Errorf("closed without an end %d times, at last after seq %d", o.reopened, o.ledger.seq)
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
		if w.run = o.p.run; o.ledger.cursor {
			w.after = at(o.ledger.seq)
		}
	}
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

// closedEarly says whether a connection was closed, by whatever is between.
func closedEarly(err error) bool {
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
