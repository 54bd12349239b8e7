package turns

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// StopRequest names a run to stop, by its id or by the token that started it.
type StopRequest struct {
	Realm       subjects.Realm // whose chat it is
	ChatID      string
	RunID       subjects.RunID // any string is allowed
	ClientToken string
	Reason      string // for people and logs; at most maxReason bytes
}

const maxReason = 256

// Stop asks for a run to be stopped, and returns the run's id. A run that has not begun
// ends at once and never does work; one that has begun is ended by its producer. It may be repeated until
// the run is over. It never touches another run of the chat.
//
// The error is ErrNotFound, *StaleError when the run is over, ErrOptions, or what kept the
// broker from answering.
func (q *Queue) Stop(ctx context.Context, r StopRequest) (subjects.RunID, error) {
	if len(r.Reason) > maxReason || !utf8.ValidString(r.Reason) {
		return "", fmt.Errorf("%w: reason has %d bytes; allowed are up to %d bytes of valid UTF-8", ErrOptions, len(r.Reason), maxReason)
	}
	e, err := q.named(ctx, r)
	if err != nil {
		return "", err
	}
	if err := q.over(ctx, e); err != nil {
		return e.RunID, err
	}
	if _, _, err := q.store.PutControl(ctx, e.RunID, runs.Control{Kind: runs.ControlStop, Reason: r.Reason}); err != nil {
		return e.RunID, err
	}
	if e.State != runs.StateQueued {
		return e.RunID, nil
	}
	ended, begun, err := q.store.EndQueued(ctx, e.RunID, subjects.End{Reason: subjects.ReasonStopped})
	if err == nil && !begun {
		q.log.Info("stopped a run that had not begun", "run", e.RunID, "reason", ended.End.Reason)
	}
	return e.RunID, err
}

// named finds the run that a request names, in its chat.
func (q *Queue) named(ctx context.Context, r StopRequest) (*runs.Entry, error) {
	id := r.RunID
	if id == "" {
		p, err := q.store.Pointer(ctx, r.Realm, r.ChatID)
		if err != nil {
			return nil, err
		}
		var ok bool
		if id, ok = p.Started(r.ClientToken); !ok {
			return nil, ErrNotFound
		}
	}
	return q.entry(ctx, r.Realm, r.ChatID, id)
}

// entry reads the entry of a run of the chat. One of another chat does not exist.
func (q *Queue) entry(ctx context.Context, realm subjects.Realm, chat string, id subjects.RunID) (*runs.Entry, error) {
	if _, err := subjects.ParseRunID(string(id)); err != nil {
		return nil, ErrNotFound
	}
	e, err := q.store.Entry(ctx, id)
	if err == nil && (e.Realm != realm || e.ChatID != chat) {
		return nil, ErrNotFound
	}
	return e, err
}

// over is *StaleError when the run has its end, in its entry or in its log.
func (q *Queue) over(ctx context.Context, e *runs.Entry) error {
	if e.End != nil {
		return &StaleError{RunID: e.RunID, End: *e.End}
	}
	last, err := q.store.Last(ctx, e.RunID)
	if errors.Is(err, runs.ErrNotFound) {
		return nil // the janitor's business
	}
	if err == nil && last.End() != nil {
		return &StaleError{RunID: e.RunID, End: *last.End()}
	}
	return err
}
