package ingest

import (
	"context"
	"errors"
	"time"

	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
)

// stopTimeout bounds how long such an end is tried at a time.
const stopTimeout = 10 * time.Second

// obey ends a run that was asked to stop, if its producer does not. What it has brought
// until then is kept, and nobody has saved it.
func (h *Handler) obey(held *session, run *producer.Run) {
	select {
	case <-run.Stopping():
	case <-run.Done():
		return
	case <-h.ctx.Done():
		return
	}
	late := time.NewTimer(h.cfg.StopGrace)
	defer late.Stop()
	select {
	case <-late.C:
	case <-run.Done():
		return
	case <-h.ctx.Done():
		return
	}
	ctx, cancel := context.WithTimeout(h.ctx, stopTimeout)
	defer cancel()
	end, err := run.Finish(ctx, producer.FinishOptions{Reason: subjects.ReasonStopped})
	switch {
	case err == nil:
		h.runs.over(held)
		h.log.Info("a run was stopped without its producer", "run", run.ID(), "reason", end.Reason)
	case !errors.Is(err, producer.ErrFenced) && h.ctx.Err() == nil:
		h.log.Warn("a run that was to be stopped is not ended yet", "run", run.ID(), "error", err)
	}
}
