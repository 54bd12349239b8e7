package ingest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rejoin/rejoin/internal/auth"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
)

// sessions holds a run for as long as its producer calls.
type sessions struct {
	cfg  Config
	hold func(*session, *producer.Run) // told of each run that is held from now on

	mu     sync.Mutex
	byID   map[subjects.RunID]*session
	closed bool
}

// session is one run held in this process.
type session struct {
	id   subjects.RunID
	turn chan struct{} // one place: whoever changes run

	// guarded by sessions.mu
	run   *producer.Run // nil before it is taken over
	calls int           // requests in progress
	last  time.Time     // when the last one ended
}

func (s *sessions) open(cfg Config, hold func(*session, *producer.Run)) {
	s.cfg, s.hold, s.byID = cfg, hold, map[subjects.RunID]*session{}
}

// room says whether one more run may be held.
func (s *sessions) room() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return errDraining
	case len(s.byID) >= s.cfg.MaxRuns:
		return errFull
	}
	return nil
}

// put holds a run that was just started.
func (s *sessions) put(run *producer.Run) error {
	s.mu.Lock()
	closed := s.closed
	if !closed {
		held := &session{id: run.ID(), run: run, turn: make(chan struct{}, 1), last: time.Now()}
		s.byID[run.ID()] = held
		s.hold(held, run)
	}
	s.mu.Unlock()
	if closed {
		_ = run.Close() // the caller never learns its id
		return errDraining
	}
	return nil
}

// call begins a request for a run; it is taken over where this process does not hold it.
// The request has to end with done. A run that ctx's caller may not write does not exist.
func (s *sessions) call(ctx context.Context, id subjects.RunID) (*session, *producer.Run, error) {
	may := auth.From(ctx).MayProduce
	s.mu.Lock()
	held := s.byID[id]
	foreign := held != nil && held.run != nil && !may(held.run.Realm())
	switch {
	case s.closed:
		s.mu.Unlock()
		return nil, nil, errDraining
	case (held == nil || foreign) && len(s.byID) >= s.cfg.MaxRuns:
		s.mu.Unlock()
		return nil, nil, errFull
	case foreign:
		s.mu.Unlock()
		return nil, nil, s.refuse(ctx, id)
	case held == nil:
		held = &session{id: id, turn: make(chan struct{}, 1)}
		s.byID[id] = held
	}
	held.calls++
	run := held.run
	s.mu.Unlock()

	if run == nil || movable(run.Err()) {
		var err error
		if run, err = s.retake(ctx, held, run); err != nil {
			s.done(held)
			return nil, nil, err
		}
	}
	return held, run, nil
}

// refuse answers a call for a run that this process holds and the caller may not write. It
// takes as long as for a run that does not exist, and is no call: nothing of it keeps the
// run alive.
func (s *sessions) refuse(ctx context.Context, id subjects.RunID) error {
	_, err := s.cfg.Producer.ResumeIf(ctx, id, func(subjects.Realm) bool { return false })
	return err
}

// movable says whether a run was lost in a way that taking it over mends.
func movable(err error) bool {
	return errors.Is(err, producer.ErrFenced) && !errors.Is(err, producer.ErrEnded)
}

// retake takes a run over in place of lost; nil is a run never held. Of several
// requests that find it lost one does so for all.
func (s *sessions) retake(ctx context.Context, held *session, lost *producer.Run) (*producer.Run, error) {
	select {
	case held.turn <- struct{}{}:
		defer func() { <-held.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	may := auth.From(ctx).MayProduce
	s.mu.Lock()
	run, closed := held.run, s.closed
	s.mu.Unlock()
	switch {
	case closed:
		return nil, errDraining
	case run != lost && !may(run.Realm()): // somebody else's call took it over meanwhile
		return nil, s.refuse(ctx, held.id)
	case run != lost:
		return run, nil
	}
	run, err := s.cfg.Producer.ResumeIf(ctx, held.id, may)
	if err != nil {
		return nil, err
	}
	if lost != nil {
		_ = lost.Close() // it is fenced already; this only lets go of it
	}
	s.mu.Lock()
	held.run, closed = run, s.closed
	if !closed {
		s.hold(held, run)
	}
	s.mu.Unlock()
	if closed { // too late for release to see it
		return nil, errors.Join(errDraining, run.Release(ctx))
	}
	if f := s.cfg.Metrics.Retaken; f != nil {
		f()
	}
	return run, nil
}

// why says what closed a run in the course of a request: the process's shutdown, or an
// end that another request asked for.
func (s *sessions) why(err error) error {
	if !errors.Is(err, producer.ErrClosed) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errDraining
	}
	return errEnding
}

// done ends a request.
func (s *sessions) done(held *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held.calls--
	held.last = time.Now()
	if held.calls == 0 && (held.run == nil || held.run.Err() != nil && !errors.Is(held.run.Err(), producer.ErrClosed)) {
		s.forget(held)
	}
}

// over forgets a run that has its end.
func (s *sessions) over(held *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(held)
}

// forget removes a session. The caller holds mu.
func (s *sessions) forget(held *session) {
	if s.byID[held.id] == held {
		delete(s.byID, held.id)
	}
}
