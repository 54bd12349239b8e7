package producer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

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

// halt stops the writing and the checkpoints wherever they are.
func (r *Run) halt() {
	r.fail(ErrClosed)
	r.stop()
	r.out.Withdraw()
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
