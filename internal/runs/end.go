package runs

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nuid"

	"github.com/rejoin/rejoin/subjects"
)

// Seal writes a run's end into its entry, once the end record is stored or the log
// is lost. An entry that has an end keeps it. It is the last step of every end.
func (s *Store) Seal(ctx context.Context, id subjects.RunID, end subjects.End, seq uint64) (*Entry, error) {
	e, err := s.ChangeEntry(ctx, id, func(e *Entry) error {
		if e.End != nil {
			return ErrEnded
		}
		e.State, e.End, e.EndedAt = StateEnded, &end, time.Now().UTC()
		e.Seq = max(e.Seq, seq)
		return nil
	})
	if errors.Is(err, ErrEnded) {
		err = nil
	}
	return e, err
}

// EndRun ends a run that the caller does not write: its producer is gone, or a
// newer run took the chat. It fences whoever writes the run, however fast. A run
// that has an end keeps it, and that end is what is returned.
func (s *Store) EndRun(ctx context.Context, id subjects.RunID, end subjects.End) (EndedError, error) {
	writer := nuid.Next()
	for {
		last, err := s.Last(ctx, id)
		if errors.Is(err, ErrNotFound) || errors.Is(err, ErrLogLost) {
			// Nothing to append to: the entry alone tells readers of the end.
			return s.sealed(ctx, id, end, 0)
		}
		if err != nil {
			return EndedError{}, err
		}
		if e := last.End(); e != nil {
			return s.sealed(ctx, id, *e, last.Last)
		}
		r := subjects.EndRecord(end, last.Last, writer)
		_, err = s.Append(ctx, id, &r, last.StreamSeq)
		var ended *EndedError
		switch {
		case err == nil:
			return s.sealed(ctx, id, end, last.Last)
		case errors.As(err, &ended):
			return s.sealed(ctx, id, ended.End, ended.Seq)
		case !errors.Is(err, ErrFenced):
			return EndedError{}, err
		}
		// The writer was faster; it can win only as long as it keeps publishing.
		if ctx.Err() != nil {
			return EndedError{}, ctx.Err()
		}
	}
}

func (s *Store) sealed(ctx context.Context, id subjects.RunID, end subjects.End, seq uint64) (EndedError, error) {
	e, err := s.Seal(ctx, id, end, seq)
	if err != nil {
		return EndedError{}, err
	}
	return EndedError{End: *e.End, Seq: e.Seq}, nil
}
