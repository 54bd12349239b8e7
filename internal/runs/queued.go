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

// errBegun says that a worker was faster.
var errBegun = errors.New("the turn has begun")

// seeToQueued looks after a run whose turn has not begun. It says whether the run is
// one that nobody knows of, which is removed like any other orphan.
func (j *Janitor) seeToQueued(ctx context.Context, v *view, e *Entry, now time.Time) (orphan bool, err error) {
	p, age := v.pointer(e), now.Sub(v.stored[e.RunID])
	switch {
	case p == nil:
		return true, nil
	case p.RunID == e.RunID && age >= j.cfg.TurnTTL:
		return false, j.expire(ctx, e.RunID, age)
	case p.RunID == e.RunID && age >= repairAfter:
		return false, j.store.Enqueue(ctx, e)
	case p.RunID == e.RunID:
		return false, nil
	case slices.Contains(p.Queue, e.RunID):
		return false, j.store.Promote(ctx, e.Tenant, e.ChatID)
	}
	return true, nil
}

// expire ends a run whose turn no worker took in time.
func (j *Janitor) expire(ctx context.Context, id subjects.RunID, age time.Duration) error {
	_, err := j.store.ChangeEntry(ctx, id, func(e *Entry) error {
		if e.State != StateQueued {
			return errBegun
		}
		e.State = StateRunning // no worker may begin it any more
		return nil
	})
	if errors.Is(err, errBegun) || errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	words := agui.NewRunError(fmt.Sprintf("no worker took this turn within %v", age.Round(time.Second)), "unclaimed")
	got, err := j.store.EndRun(ctx, id, subjects.End{Reason: subjects.ReasonError}, words)
	if err != nil {
		return err
	}
	j.log.Error("no worker took a turn in time, and it has ended; are there workers?", "run", id, "waited", age)
	j.ended(got.End.Reason)
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
