package producer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// FinishOptions say how a run ends.
type FinishOptions struct {
	// Reason is one that subjects.ParseReason accepts; "" means done.
	Reason subjects.Reason
	// Persisted says that the result is saved already. It counts only without Save.
	Persisted bool
	// Save saves the result, after every event is stored and before the end is. It
	// must return when its context is done. The end says persisted when Save
	// returns nil within its time, and save_failed when it returns an error, panics, is
	// cancelled or takes too long. nil means there is nothing to save.
	Save func(context.Context) error
	// SaveTimeout bounds Save; 0 means DefaultSaveTimeout.
	SaveTimeout time.Duration
}

func (o *FinishOptions) check() error {
	reason, err := subjects.ParseReason(string(o.Reason))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrOptions, err)
	}
	o.Reason = reason
	return nil
}

// stateTimeout is how long telling that the run is saving, or free, may take.
const stateTimeout = 2 * time.Second

// Finish ends the run: it waits until every event is stored, runs the save, stores the
// last segment and then the end. It returns once the end is stored, with the end
// that readers see: superseded where a newer run has taken the chat. Nothing can be
// published any more from the moment it is called.
//
// ctx bounds all of it until the save has begun. From then on the end is decided, and
// is still given some seconds when ctx ends; after that it is tried again in the background,
// and Finish returns an error. A second call goes on where the first stopped, or
// returns what that returned. ErrFenced and *EndedError say that the run was not
// this writer's to end any more.
func (r *Run) Finish(ctx context.Context, o FinishOptions) (subjects.End, error) {
	if err := o.check(); err != nil {
		return subjects.End{}, err
	}
	if err := r.take(ctx); err != nil {
		return subjects.End{}, err
	}
	defer r.give()
	e := &r.ending
	if e.over {
		return e.result.End, e.err
	}
	if !e.decided {
		if err := r.drain(ctx); err != nil {
			return r.lost(err)
		}
		end, err := r.saved(ctx, o)
		if err != nil {
			return r.lost(err)
		}
		e.end, e.decided = end, true
	}
	ctx, cancel := grace(ctx, endTimeout)
	defer cancel()
	r.lastCheckpoint(ctx)
	r.fail(ErrClosed)
	got, err := r.conclude(ctx, e.end)
	return got.End, err
}

// saved runs the save and gives the end that follows from it. The error is that
// another writer has taken the run.
func (r *Run) saved(ctx context.Context, o FinishOptions) (subjects.End, error) {
	end := subjects.End{Persisted: o.Persisted, Reason: o.Reason}
	if o.Save == nil {
		return end, nil
	}
	if err := r.saving(ctx); definite(err) {
		return end, err
	}
	err := r.p.save(ctx, o.SaveTimeout, o.Save)
	end.Persisted = err == nil
	switch {
	case err == nil:
	case errors.Is(err, ErrSkipped):
		end.Reason = subjects.ReasonSkipped
		r.p.log.Warn("the run's result was not saved: the chat has moved on", "run", r.id, "error", err)
	default:
		if end.Reason == subjects.ReasonDone {
			end.Reason = subjects.ReasonSaveFailed // any other reason says more than this one
		}
		r.p.log.Error("the run's result is not saved", "run", r.id, "error", err)
	}
	return end, nil
}

// saving tells that the run only waits for its save.
func (r *Run) saving(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	_, err := r.p.store.ChangeEntry(ctx, r.id, func(e *runs.Entry) error {
		if err := r.owns(e); err != nil {
			return err
		}
		e.State = runs.StateFinishing
		return nil
	})
	if err != nil {
		r.p.log.Warn("the run's entry does not say that it is saving", "run", r.id, "error", err)
	}
	return err
}

// lastCheckpoint puts the whole run into segments. Without it nothing is lost: the log
// holds the rest for as long as the run is kept.
func (r *Run) lastCheckpoint(ctx context.Context) {
	r.mu.Lock()
	limit := timeFor(r.history.bytes)
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := r.coverAll(ctx); err != nil {
		r.p.log.Warn("the run ends without its last segment; its log holds the rest", "run", r.id, "error", err)
	}
}

// newer makes an end superseded where the chat's pointer names a newer run.
func (r *Run) newer(ctx context.Context, end subjects.End) (subjects.End, error) {
	pointer, err := r.p.store.Pointer(ctx, r.realm, r.chat)
	if err == nil && pointer.RunID != "" && pointer.RunID != r.id && pointer.Generation > r.generation {
		end.Superseded, end.Reason, end.NextRunID = true, subjects.ReasonSuperseded, pointer.RunID
	}
	return end, err
}

// grace is ctx and, once that is done, some time more.
func grace(ctx context.Context, more time.Duration) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(more, cancel) })
	return out, func() {
		stop()
		cancel()
	}
}
