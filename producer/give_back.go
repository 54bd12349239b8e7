package producer

import (
	"errors"
	"time"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// giveBack sees to a turn whose beginning may be stored, now or in a moment, and was given
// up: the lease would keep the run alive, and nobody would answer it. Its agent has
// not seen it, so it may wait for a worker again. at is when it began.
func (p *Producer) giveBack(id subjects.RunID, at time.Time) {
	p.spawn(&p.wg, func() {
		for p.ctx.Err() == nil {
			back := p.store.Reconnected()
			err := p.tryGiveBack(id, at)
			if err == nil || errors.Is(err, ErrBegun) || definite(err) {
				return
			}
			p.log.Warn("a turn that was not begun is not given back yet", "run", id, "error", err)
			select {
			case <-p.ctx.Done():
			case <-back:
			case <-time.After(endMaxRetry):
			}
		}
	})
}

func (p *Producer) tryGiveBack(id subjects.RunID, at time.Time) error {
	e, err := p.store.ChangeEntry(p.ctx, id, func(e *runs.Entry) error {
		mine := e.State == runs.StateRunning && e.Producer == p.lease.ID() && e.StartedAt.Equal(at)
		if e.End != nil || e.State != runs.StateQueued && !mine {
			return ErrBegun // by somebody else, or it is over
		}
		// Written also where nothing changes: what is on its way comes too late then.
		e.State, e.Producer, e.Steerable = runs.StateQueued, "", false
		return nil
	})
	if err != nil {
		return err
	}
	return p.store.Enqueue(p.ctx, e)
}
