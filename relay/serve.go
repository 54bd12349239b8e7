package relay

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/active"
)

// source is what a stream is read from; see consumer.Reader.
type source interface {
	Poll(context.Context) (consumer.Frame, bool, error)
	Changed() <-chan struct{}
}

// stream brings the frames of one run to one observer.
type stream struct {
	wire  wire
	sink  *sink
	leave <-chan cause
	count *frameCounts

	brokerPatience time.Duration // how long the broker may be away
	away           time.Time     // since when it is
	pause          time.Duration // before it is asked again

	frame       consumer.Frame // the one at hand
	at          uint64         // the last seq that the observer has, as far as is known
	member      *member        // nil where it never sits in a row
	frames      int
	first, last uint64 // seqs of the first and the last frame
}

// leaving is the error of a stream that was told to leave.
type leaving cause

func (l leaving) Error() string { return "told to leave: " + string(l) }

// serve writes frames until the run has ended, which is no error, or until there
// is a reason to stop before. Frames that are ready together share a flush.
func (s *stream) serve(ctx context.Context, src source) error {
	for {
		select {
		case c := <-s.leave:
			return leaving(c)
		default:
		}
		var ok bool
		var err error
		s.frame, ok, err = src.Poll(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, consumer.ErrBrokerUnavailable):
			err = s.outage(ctx, src.Changed(), err)
		case err != nil:
		case ok:
			s.away = time.Time{}
			err = s.put()
		default:
			s.away = time.Time{}
			if err = s.sink.flush(); err == nil {
				err = s.idle(ctx, src)
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
		}
		if err != nil {
			return err
		}
	}
}

// put hands the frame at hand to the sink.
func (s *stream) put() error {
	refused, err := s.sink.frame(s.wire, &s.frame)
	if err != nil {
		return err
	}
	if s.frames == 0 {
		s.first = s.frame.Seq
	}
	s.at, s.last = s.frame.Seq, s.frame.Seq
	s.frames++
	s.count.add(s.frame.Type, 1)
	s.frame = consumer.Frame{} // its bytes are not held for as long as the stream is idle
	return refused
}

// outage waits before the broker is asked again. An observer is better off on a
// stream that will go on than on its way to another relay of the same broker, but
// not for ever. changed, which may be nil, says that it answers again.
func (s *stream) outage(ctx context.Context, changed <-chan struct{}, err error) error {
	const first, longest = 100 * time.Millisecond, 2 * time.Second
	now := time.Now()
	if s.away.IsZero() {
		s.away, s.pause = now, first
	}
	if now.Sub(s.away) >= s.brokerPatience {
		return err
	}
	if err := s.sink.flush(); err != nil {
		return err
	}
	again := time.NewTimer(jitter(s.pause, s.pause/4))
	defer again.Stop()
	s.pause = min(2*s.pause, longest)
	select {
	case <-again.C:
		return nil
	case <-changed:
		return nil
	case c := <-s.leave:
		return leaving(c)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// idle waits until there may be more, in a row where that can be. The error is why the stream
// has to stop, io.EOF where the run has ended.
func (s *stream) idle(ctx context.Context, src source) error {
	if sat, err := s.sit(ctx); sat || err != nil {
		return err
	}
	return wait(ctx, s.leave, src.Changed())
}

// wait returns nil once wake is closed, else why the stream has to stop.
func wait(ctx context.Context, leave <-chan cause, wake <-chan struct{}) error {
	select {
	case <-wake:
		return nil
	case c := <-leave:
		return leaving(c)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// causeOf names what serve returned.
func causeOf(err error) cause {
	var told leaving
	switch {
	case err == nil:
		return causeEnd
	case errors.As(err, &told):
		return cause(told)
	case errors.Is(err, errDraining):
		return causeDrain
	case errors.Is(err, errCredential):
		return causeExpired
	case errors.Is(err, errSwitchedOff):
		return causeSwitchedOff
	case errors.Is(err, active.ErrBehind):
		return causeBehind
	case errors.Is(err, active.ErrClosed):
		return causeDrain
	case errors.Is(err, errLegacyGap):
		return causeGap
	case errors.Is(err, consumer.ErrGone):
		return causeGone
	case errors.Is(err, consumer.ErrBrokerUnavailable):
		return causeBroker
	case errors.Is(err, errWrite) && errors.Is(err, os.ErrDeadlineExceeded):
		return causeStalled
	case errors.Is(err, errWrite), errors.Is(err, context.Canceled):
		return causeClient
	}
	return causeError
}

// finish says what the observer has to know, closes the sink and returns the cause.
func (s *stream) finish(err error) cause {
	c := causeOf(err)
	s.sink.spreadOver(nil) // what it is told now, it is told for good
	switch c {
	case causeEnd, causeGap, causeClient, causeStalled:
	default:
		_ = s.sink.put(func(out *chunks) { s.wire.leave(out, c) })
	}
	s.sink.close()
	return c
}
