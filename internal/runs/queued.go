package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/subjects"
)

// repairAfter is how old a turn in the queue has to be before a janitor looks whether
// it is really there: whoever sent it may have died in between.
const repairAfter = 5 * time.Second

// errBegun says that a worker was faster, or that the turn had its time only just now.
var errBegun = errors.New("the turn has begun")

// EndQueued ends a run whose turn has not begun, so that it never will. begun says that
// a worker was faster: then it is for the run's producer to end it. Of the two one
// wins, at the entry. A run that has an end keeps it.
func (s *Store) EndQueued(ctx context.Context, id subjects.RunID, end subjects.End) (ended EndedError, begun bool, err error) {
	return s.endQueued(ctx, id, end, func(*Entry) bool { return true })
}

func (s *Store) endQueued(ctx context.Context, id subjects.RunID, end subjects.End, may func(*Entry) bool, words ...[]byte) (ended EndedError, begun bool, err error) {
	_, err = s.ChangeEntry(ctx, id, func(e *Entry) error {
		switch {
		case e.End != nil:
			return &EndedError{End: *e.End, Seq: e.Seq}
		case e.State != StateQueued || !may(e):
			return errBegun
		}
		e.State = StateFinishing // no worker may begin it any more
		return nil
	})
	var already *EndedError
	switch {
	case errors.As(err, &already):
		return *already, false, nil
	case errors.Is(err, errBegun):
		return EndedError{}, true, nil
	case err != nil:
		return EndedError{}, false, err
	}
	ended, err = s.EndRun(ctx, id, end, words...)
	return ended, false, err
}

// seeToQueued looks after a run whose turn has not begun. It says whether the run is
// one that nobody knows of, which is removed like any other orphan.
func (j *Janitor) seeToQueued(ctx context.Context, v *view, e *Entry, now time.Time) (orphan bool, err error) {
	p, age := v.pointer(e), now.Sub(v.stored[e.RunID])
	switch {
	case p == nil:
		return true, nil
	case p.RunID == e.RunID && age >= j.cfg.TurnTTL:
		return false, j.expire(ctx, e, age)
	case p.RunID == e.RunID && age >= repairAfter:
		missing, err := j.store.enqueue(ctx, e)
		if missing {
			j.log.Warn("a turn was missing in the work queue and is there again", "run", e.RunID)
			count(j.cfg.Metrics.Repaired)
		}
		return false, err
	case p.RunID == e.RunID:
		return false, nil
	case slices.Contains(p.Queue, e.RunID) && v.promoted[p]:
		return false, nil
	case slices.Contains(p.Queue, e.RunID):
		v.promoted[p] = true // once for all that wait in the chat
		return false, j.store.Promote(ctx, e.Realm, e.ChatID)
	}
	return true, nil
}

// expire ends a run whose turn no worker took in time. Its entry must be as it was
// seen: the sweep sees entries before pointers, and a turn that got its time in between
// would count as old as when it began to wait behind others.
func (j *Janitor) expire(ctx context.Context, seen *Entry, age time.Duration) error {
	words := agui.NewRunError(fmt.Sprintf("no worker took this turn within %v", age.Round(time.Second)), "unclaimed")
	got, begun, err := j.store.endQueued(ctx, seen.RunID, subjects.End{Reason: subjects.ReasonError},
		func(e *Entry) bool { return e.revision == seen.revision }, words)
	if begun || errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	j.log.Error("no worker took a turn in time, and it has ended; are there workers?", "run", seen.RunID, "waited", age)
	j.ended(got.End.Reason)
	count(j.cfg.Metrics.Expired)
	return nil
}

// forgetQueued removes a run that waits for a turn which nobody sent: its sender died
// before the chat's pointer named it.
func (j *Janitor) forgetQueued(ctx context.Context, e *Entry, p *Pointer) error {
	if p.RunID == e.RunID || slices.Contains(p.Queue, e.RunID) {
		return nil
	}
	j.log.Info("removing a run that its sender never finished to start", "run", e.RunID)
	return j.store.Discard(ctx, e.RunID)
}
