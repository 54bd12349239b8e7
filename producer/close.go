package producer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// ending is how far a run's end has come.
type ending struct {
	decided bool // end stands
	end     subjects.End
	stored  bool // the log holds result
	over    bool // result and err are final, and the run is no longer this process's
	result  EndedError
	err     error
}

// take makes the caller the only one who gives the run back, until give.
func (r *Run) take(ctx context.Context) error {
	select {
	case r.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case r.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *Run) give() { <-r.turn }

// drain refuses further events and waits until those taken are stored.
func (r *Run) drain(ctx context.Context) error {
	r.refuse()
	select {
	case <-r.written:
	case <-ctx.Done():
		return ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// halt stops the writer and the checkpoints wherever they are.
func (r *Run) halt() {
	r.fail(ErrClosed)
	r.stop()
	<-r.written
}

// closeFlush is how long Close waits for events that are on their way.
const closeFlush = 2 * time.Second

// Close gives up a run that was not finished: it ends as abandoned, if it is still this
// writer's. It takes a few seconds at most; an end that cannot be stored by then is
// tried again at every renewal of the lease, and that is the error. On a run that is
// over Close does nothing.
func (r *Run) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeFlush+endTimeout)
	defer cancel()
	return r.close(ctx)
}

func (r *Run) close(ctx context.Context) error {
	if err := r.take(ctx); err != nil {
		return err
	}
	defer r.give()
	e := &r.ending
	if e.over {
		return nil
	}
	flush, cancel := context.WithTimeout(ctx, closeFlush)
	err := r.drain(flush)
	cancel()
	r.halt()
	if !e.decided {
		e.end, e.decided = subjects.End{Reason: subjects.ReasonAbandoned}, true
		if broken(err) {
			e.end.Reason = subjects.ReasonError
		}
	}
	ctx, cancel = context.WithTimeout(ctx, endTimeout)
	defer cancel()
	if _, err = r.conclude(ctx, e.end); definite(err) {
		return nil
	}
	return err
}

// Release stores what was published, makes the last segment and gives the run up, so that
// another process may take it over with Resume within the lease time. The run is
// given up in any case; an error says that events were not stored, or that the run's
// entry does not say that it is free, which then shows when the lease ends.
func (r *Run) Release(ctx context.Context) error {
	if err := r.take(ctx); err != nil {
		return err
	}
	defer r.give()
	e := &r.ending
	if e.over {
		return e.err
	}
	err := r.drain(ctx)
	if err == nil {
		r.lastCheckpoint(ctx)
	}
	r.halt()
	e.over, e.err = true, ErrClosed
	r.p.remove(r)
	if err != nil {
		e.err = err
		if definite(err) || broken(err) {
			return err
		}
	}
	ctx, cancel := grace(ctx, stateTimeout)
	defer cancel()
	_, freed := r.p.store.ChangeEntry(ctx, r.id, func(e *runs.Entry) error {
		if err := r.owns(e); err != nil {
			return err
		}
		e.Producer = ""
		return nil
	})
	return errors.Join(err, freed)
}

// owns says whether the entry still names this writer.
func (r *Run) owns(e *runs.Entry) error {
	switch {
	case e.End != nil:
		return &EndedError{End: *e.End, Seq: e.Seq}
	case e.Writer != r.writer:
		return fmt.Errorf("%w: the entry names writer %.40q", ErrFenced, e.Writer)
	}
	return nil
}

// definite says that the run is not this writer's any more.
func definite(err error) bool {
	return errors.Is(err, ErrFenced) || errors.Is(err, ErrNotFound)
}

// broken says that the run cannot be written though nobody else does.
func broken(err error) bool {
	return err != nil && !definite(err) && !errors.Is(err, ErrClosed) &&
		!errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// lost is what Finish returns when it could not begin to end the run.
func (r *Run) lost(err error) (subjects.End, error) {
	var ended *EndedError
	errors.As(err, &ended)
	if definite(err) {
		if ended == nil {
			ended = &EndedError{}
		}
		r.over(*ended, err)
		return ended.End, err
	}
	return subjects.End{}, err
}

// over makes the result final. The caller has the turn.
func (r *Run) over(result EndedError, err error) {
	r.halt()
	r.ending.over, r.ending.result, r.ending.err = true, result, err
	r.p.remove(r)
}

// endAgain is a later attempt at an end that could not be stored.
func (r *Run) endAgain(end subjects.End) {
	select {
	case r.turn <- struct{}{}:
	default:
		return // whoever has the turn tries
	}
	defer r.give()
	if r.ending.over && !r.ending.stored {
		r.p.remove(r)
		return
	}
	ctx, cancel := context.WithTimeout(r.p.ctx, endTimeout)
	defer cancel()
	_, _ = r.conclude(ctx, end) // it has logged what went wrong, and the next renewal tries again
}

// conclude stores the end behind the run's newest record and in its entry, if the run
// is still this writer's. Any error but a definite one leaves it to a later attempt.
// The caller has the turn, and the writer has stopped.
func (r *Run) conclude(ctx context.Context, end subjects.End) (EndedError, error) {
	e := &r.ending
	if !e.stored {
		got, err := r.endRecord(ctx, end)
		switch {
		case definite(err):
			result := EndedError{}
			if ended := (*EndedError)(nil); errors.As(err, &ended) {
				result = *ended
				_, _ = r.p.store.Seal(ctx, r.id, result.End, result.Seq) // a janitor does, else
			}
			r.over(result, err)
			return result, err
		case err != nil:
			r.p.endLater(r, end)
			return EndedError{}, fmt.Errorf("the run's end is not stored yet: %w", err)
		}
		e.stored, e.result = true, got
		r.p.log.Info("run ended", "run", r.id, "seq", got.Seq, "reason", got.End.Reason, "persisted", got.End.Persisted)
		if f := r.p.cfg.Metrics.Ended; f != nil {
			f(got.End)
		}
	}
	if _, err := r.p.store.Seal(ctx, r.id, e.result.End, e.result.Seq); err != nil && !errors.Is(err, ErrNotFound) {
		// The end is stored and readers see it; the entry follows.
		r.p.log.Warn("the run's entry does not say that it ended; trying again", "run", r.id, "error", err)
		e.over = true
		r.p.endLater(r, end)
		return e.result, nil
	}
	r.over(e.result, nil)
	return e.result, nil
}

// endRecord appends the end, by the fence of this writer, and tries until ctx is done.
// What became of a record that was on its way when the writer was stopped shows in
// the log.
func (r *Run) endRecord(ctx context.Context, end subjects.End) (EndedError, error) {
	wait := endRetry
	for try := 1; ; try++ {
		got, err := r.tryEnd(ctx, end, try > endPointerTries)
		if err == nil || definite(err) || errors.Is(err, nats.ErrConnectionClosed) {
			return got, err
		}
		if try == 1 {
			r.p.log.Warn("a run's end is not stored; trying again", "run", r.id, "error", err)
		}
		select {
		case <-ctx.Done():
			return EndedError{}, err
		case <-r.p.store.Reconnected():
		case <-time.After(wait):
		}
		wait = min(2*wait, endMaxRetry)
	}
}

// How long the next attempt at an end waits, and how many attempts insist on knowing
// whether a newer run took the chat.
const (
	endRetry        = 10 * time.Millisecond
	endMaxRetry     = time.Second
	endPointerTries = 3
)

var errBetween = errors.New("a record came in between")

// tryEnd makes one attempt to append the end.
func (r *Run) tryEnd(ctx context.Context, end subjects.End, whatever bool) (EndedError, error) {
	end, err := r.newer(ctx, end)
	if err != nil && !whatever {
		return EndedError{}, err
	}
	last, err := r.p.store.Last(ctx, r.id)
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrLogLost) && errors.Is(r.Err(), ErrLogLost):
		return EndedError{End: end, Seq: r.StoredSeq()}, nil // the entry alone tells of it
	case err != nil:
		return EndedError{}, err
	case last.Writer != r.writer && last.Kind == subjects.KindEnd:
		return EndedError{}, &EndedError{End: *last.End(), Seq: last.Last}
	case last.Writer != r.writer:
		return EndedError{}, fmt.Errorf("%w: writer %.40q", ErrFenced, last.Writer)
	case last.Kind == subjects.KindEnd:
		return EndedError{End: *last.End(), Seq: last.Last}, nil
	}
	rec := subjects.EndRecord(end, last.Last, r.writer)
	_, err = r.p.store.Append(ctx, r.id, &rec, last.StreamSeq)
	if errors.Is(err, ErrFenced) && !errors.Is(err, ErrEnded) {
		err = errBetween // a record of ours or of another, the next look tells
	}
	return EndedError{End: end, Seq: last.Last}, err
}
