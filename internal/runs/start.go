package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nuid"

	"github.com/rejoin/rejoin/subjects"
)

// OnActive says what a start does about a run of the chat that is active.
type OnActive string

// What a start may do.
const (
	Supersede OnActive = "supersede" // the newer run takes the chat
	Reject    OnActive = "reject"    // the active run goes on and the start fails
	Behind    OnActive = "queue"     // the newer run waits until it is its turn
)

// StartRequest says which run to start.
type StartRequest struct {
	// Entry has Realm, ChatID, Owner, Kind, State, Producer and what else its starter
	// wants to be known of the run. StartRun fills in the rest.
	Entry    Entry
	OnActive OnActive // required
	// Replace is the one run that a start with Reject takes the chat from all the same, ""
	// for none.
	Replace     subjects.RunID
	ClientToken string // makes a repeated start fail with the first one's run; "" for none
	// Prepare stores what has to be there before anybody sees the run. It may be nil.
	Prepare func(context.Context, subjects.RunID) error
}

// Started is a run that was started.
type Started struct {
	*Entry
	Behind bool           // another run is active, and this one waits for its turn
	Older  subjects.RunID // the run that it took the chat from; "" for none
	Ended  *EndedError    // how the older run ended; nil where that is not known yet
}

// LeftoverError says that a run was not started and that something of it may be left.
type LeftoverError struct {
	Entry *Entry
	Named bool // the chat's pointer may name it
	Err   error
}

func (e *LeftoverError) Error() string { return e.Err.Error() }

// Unwrap returns why the run was not started.
func (e *LeftoverError) Unwrap() error { return e.Err }

// undoTimeout bounds what has to be done for the sake of others after a start.
const undoTimeout = 5 * time.Second

// StartRun makes a run's first record and its entry, and then makes it its chat's
// newest run, or puts it behind the active one. The run before it has its end when
// it returns, or soon will.
//
// The error is *AlreadyStreamingError or *AlreadyStartedError when there was no need
// to start, ErrQueueFull, or what kept the broker from answering; it is wrapped by
// *LeftoverError where something of the run may be stored.
func (s *Store) StartRun(ctx context.Context, req StartRequest) (*Started, error) {
	var e *Entry // claimed, and not the chat's yet
	var forgotten subjects.RunID
	for {
		p, err := s.Pointer(ctx, req.Entry.Realm, req.Entry.ChatID)
		behind, began := false, time.Now()
		if err == nil && forgotten != "" {
			p.forget(forgotten)
		}
		if err == nil {
			behind, err = s.admit(ctx, &req, p)
		}
		if err == nil {
			generation := p.Generation + 1
			if behind {
				generation = 0
			}
			e, err = s.claim(ctx, &req, e, generation)
		}
		if err != nil {
			return nil, s.unwanted(ctx, e, err)
		}
		older := p.RunID
		if behind {
			p.Enqueue(e.RunID, req.ClientToken)
		} else {
			p.Advance(e.RunID, e.Generation, req.ClientToken)
		}
		err = s.SetPointer(ctx, p)
		if err == nil && e.State == StateQueued && time.Since(began) > slowStart && s.gone(ctx, e.RunID) {
			forgotten, e = e.RunID, nil
			continue
		}
		switch {
		case err == nil && behind:
			s.promoteBehind(ctx, e)
			return &Started{Entry: e, Behind: true}, nil
		case err == nil:
			return &Started{Entry: e, Older: older, Ended: s.supersede(ctx, older, e.RunID)}, nil
		case !errors.Is(err, ErrConflict):
			return nil, &LeftoverError{Entry: e, Named: true, Err: err}
		case ctx.Err() != nil:
			return nil, s.unwanted(ctx, e, ctx.Err())
		}
	}
}

// slowStart is how long a start may take without looking whether its run is still
// there: a janitor removes what waits for a turn and no pointer names, after a lease
// time, which is no shorter.
const slowStart = MinLease

// gone says whether a run that was there is not any more.
func (s *Store) gone(ctx context.Context, id subjects.RunID) bool {
	_, err := s.Entry(ctx, id)
	return errors.Is(err, ErrNotFound)
}

// promoteBehind sees to a run that was put behind another: that one may have ended just
// before, when nobody waited for its end yet.
func (s *Store) promoteBehind(ctx context.Context, e *Entry) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	if err := s.Promote(ctx, e.Realm, e.ChatID); err != nil {
		s.log.Warn("a turn that waits behind others was not looked after; a janitor does", "run", e.RunID, "error", err)
	}
}

// admit says whether a run may start in the chat, and whether it has to wait.
func (s *Store) admit(ctx context.Context, req *StartRequest, p *Pointer) (behind bool, err error) {
	if id, ok := p.Started(req.ClientToken); ok {
		return false, &AlreadyStartedError{RunID: id}
	}
	if req.OnActive == Supersede || p.RunID == "" {
		return false, nil
	}
	active := len(p.Queue) > 0 // then one is about to be
	if !active {
		if active, err = s.Active(ctx, p.RunID); err != nil {
			return false, err
		}
	}
	switch {
	case !active, req.OnActive == Reject && p.RunID == req.Replace:
		return false, nil
	case req.OnActive == Reject:
		return false, &AlreadyStreamingError{RunID: p.RunID}
	case len(p.Queue) >= subjects.MaxQueuedTurns:
		return false, fmt.Errorf("%w: %d", ErrQueueFull, len(p.Queue))
	}
	return true, nil
}

// Active says whether a run has no end, in its entry or in its log, which is the
// first to have it.
func (s *Store) Active(ctx context.Context, id subjects.RunID) (bool, error) {
	e, err := s.Entry(ctx, id)
	if errors.Is(err, ErrNotFound) || err == nil && !e.Active() {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	last, err := s.Last(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil && last.Kind != subjects.KindEnd, err
}

// claim makes the run's first record and its entry. A run that was claimed before
// only gets its new place in the chat. The entry is returned, also with an error, as
// soon as anything of the run may be stored.
func (s *Store) claim(ctx context.Context, req *StartRequest, had *Entry, generation uint64) (*Entry, error) {
	if had != nil {
		e, err := s.ChangeEntry(ctx, had.RunID, func(e *Entry) error {
			if e.End != nil { // a janitor took the run for one that was replaced
				return &EndedError{End: *e.End, Seq: e.Seq}
			}
			e.Generation = generation
			return nil
		})
		switch {
		case err == nil:
			return e, nil
		case !errors.Is(err, ErrEnded):
			return had, err
		}
		if err := s.Discard(ctx, had.RunID); err != nil {
			return had, err
		}
	}
	e := req.Entry
	e.RunID, e.Writer, e.Generation, e.StartedAt = s.NewRunID(), nuid.Next(), generation, time.Now().UTC()
	if req.Prepare != nil {
		if err := req.Prepare(ctx, e.RunID); err != nil {
			return &e, err
		}
	}
	first := subjects.Record{Kind: subjects.KindStart, Writer: e.Writer, Trace: e.Trace}
	seq, err := s.Append(ctx, e.RunID, &first, 0)
	e.FirstStreamSeq, e.ClaimStreamSeq = seq, seq
	if err == nil {
		err = s.CreateEntry(ctx, &e)
	}
	return &e, err
}

// unwanted removes a run that no pointer names, now or later; nil is none. It returns
// why the run was not started.
func (s *Store) unwanted(ctx context.Context, e *Entry, why error) error {
	if e == nil {
		return why
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	if err := s.Discard(ctx, e.RunID); err != nil {
		s.log.Warn("a run that was not needed is not removed yet", "run", e.RunID, "error", err)
		return &LeftoverError{Entry: e, Err: why}
	}
	return why
}

// supersede ends the run that the chat's pointer named before. If it cannot, the older run's
// own Finish or a janitor does: the pointer tells them.
func (s *Store) supersede(ctx context.Context, older, newer subjects.RunID) *EndedError {
	if older == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	end := subjects.End{Superseded: true, Reason: subjects.ReasonSuperseded, NextRunID: newer}
	ended, err := s.EndRun(ctx, older, end)
	if err != nil && !errors.Is(err, ErrNotFound) {
		s.log.Warn("the older run is not ended yet", "run", older, "next", newer, "error", err)
	}
	if err != nil {
		return nil
	}
	return &ended
}
