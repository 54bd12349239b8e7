package ingest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rejoin/rejoin/producer"
)

// silent removes the runs that had no call since, and gives them out.
func (s *sessions) silent(since time.Time) []*producer.Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	var runs []*producer.Run
	for _, held := range s.byID {
		if held.calls > 0 || held.last.After(since) {
			continue
		}
		s.forget(held)
		if held.run != nil {
			runs = append(runs, held.run)
		}
	}
	return runs
}

// shut admits no more runs and no more requests.
func (s *sessions) shut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// release gives every run up, after shut.
func (s *sessions) release(ctx context.Context) error {
	s.mu.Lock()
	var runs []*producer.Run
	for _, held := range s.byID {
		if held.run != nil {
			runs = append(runs, held.run)
		}
		s.forget(held)
	}
	s.mu.Unlock()
	errs := make([]error, len(runs))
	var wg sync.WaitGroup
	for i, run := range runs {
		wg.Go(func() {
			if err := run.Release(ctx); !errors.Is(err, producer.ErrFenced) && !errors.Is(err, producer.ErrClosed) {
				errs[i] = err
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// sweep ends the runs that nobody has called for during the lease time.
func (h *Handler) sweep() {
	tick := time.NewTicker(max(h.cfg.Lease/8, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-h.ctx.Done():
			return
		case now := <-tick.C:
			for _, run := range h.runs.silent(now.Add(-h.cfg.Lease)) {
				h.wg.Go(func() { h.abandon(run) })
			}
		}
	}
}

func (h *Handler) abandon(run *producer.Run) {
	if run.Err() == nil {
		h.log.Warn("nobody has called for the run during the lease time; it is abandoned", "run", run.ID())
		if f := h.cfg.Metrics.Abandoned; f != nil {
			f()
		}
	}
	if err := run.Close(); err != nil {
		h.log.Warn("an abandoned run is not ended yet", "run", run.ID(), "error", err)
	}
}
