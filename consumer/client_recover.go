package consumer

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// maxAsked bounds how long a server may ask a client to stay away, by Retry-After
// or by retry.
const maxAsked = time.Minute

// leastWait is how long a relay has to let a request wait to be asked again at once: some
// wait for less than they are asked to, since a proxy before them would not.
const leastWait = time.Second

// connect waits until it is time and makes one attempt.
func (s *Stream) connect(ctx context.Context) error {
	if err := s.pause(ctx); err != nil {
		return err
	}
	wait := min(s.patience(), maxWaitAsked)
	sent := time.Now()
	conn, err := s.calls.dial(s.ctx, ctx, s.body(wait), wait)
	if errors.Is(err, errNothing) {
		return s.nothing(wait, time.Since(sent))
	}
	s.conn = conn
	return err
}

// pause waits until notBefore.
func (s *Stream) pause(ctx context.Context) error {
	d := time.Until(s.notBefore)
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

// nothing settles a 204 that came after the given time on a request that was
// willing to wait. Nil means to ask again, at notBefore.
func (s *Stream) nothing(willing, took time.Duration) error {
	if s.started() {
		return ErrUnavailable
	}
	left := s.patience()
	if left == 0 {
		return ErrIdle
	}
	s.fruitless = 0
	if took >= min(willing, leastWait) {
		s.early = 0
		return nil
	}
	// A relay, or a cache before it, that does not wait must not be asked in a
	// circle: at most once a second, and less and less.
	s.early++
	delay := time.Second + s.calls.client.Backoff.Delay(s.early)
	s.notBefore = time.Now().Add(min(delay, left))
	return nil
}

// fail decides what an error means: the stream's end, or another attempt.
func (s *Stream) fail(ctx context.Context, err error) {
	conn := s.conn
	s.drop()
	switch {
	case errors.Is(context.Cause(s.ctx), ErrClosed):
		s.finish(ErrClosed)
		return
	case s.ctx.Err() != nil:
		s.finish(s.ctx.Err())
		return
	case ctx.Err() != nil:
		return // the call was given up, nothing failed
	case final(err):
		s.finish(err)
		return
	}
	if conn != nil && conn.good() {
		s.fruitless = 0
	} else {
		s.fruitless++
	}
	client := &s.calls.client
	if s.fruitless >= client.MaxAttempts {
		s.finish(fmt.Errorf("%w after %d attempts without progress: %w", ErrInterrupted, s.fruitless, err))
		return
	}
	delay := asked(conn, err) + client.Backoff.Delay(s.fruitless)
	s.notBefore = time.Now().Add(delay)
	client.Logger.Info("stream broke, coming back",
		"run_id", s.pos.run, "seq", s.pos.seq, "fruitless", s.fruitless, "delay", delay, "error", err)
}

// final reports whether no further attempt would change err.
func final(err error) bool {
	var status *HTTPError
	if errors.As(err, &status) {
		return !status.temporary()
	}
	for _, e := range []error{ErrIdle, ErrUnavailable, ErrContentType, ErrTooLarge} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// asked is how long the server wants the client to stay away. The wait of the
// client's own comes on top: many are told the same.
func asked(conn *conn, err error) time.Duration {
	var d time.Duration
	if conn != nil {
		d = conn.dec.Retry()
	}
	var status *HTTPError
	if errors.As(err, &status) {
		d = max(d, status.RetryAfter)
	}
	return min(d, maxAsked)
}
