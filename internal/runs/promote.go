package runs

import (
	"context"
	"errors"
	"slices"

	"github.com/rejoin/rejoin/subjects"
)

// Promote gives the next turn that waits in the chat its time, if the run before it
// has its end, and takes out of the queue what has ended there. It is called after
// every end; a janitor does it again.
func (s *Store) Promote(ctx context.Context, realm subjects.Realm, chat string) error {
	for {
		p, err := s.Pointer(ctx, realm, chat)
		if err != nil || len(p.Queue) == 0 {
			return err
		}
		waiting := len(p.Queue)
		if p.Queue, err = s.stillQueued(ctx, p.Queue); err != nil {
			return err
		}
		active, err := s.Active(ctx, p.RunID)
		if err != nil {
			return err
		}
		var next *Entry
		if !active && len(p.Queue) > 0 {
			if next, err = s.takeNext(ctx, p); errors.Is(err, ErrEnded) || errors.Is(err, ErrNotFound) {
				continue // it was stopped just now
			}
			if err != nil {
				return err
			}
		} else if len(p.Queue) == waiting {
			return nil
		}
		err = s.SetPointer(ctx, p)
		switch {
		case err == nil && next != nil:
			return s.Enqueue(ctx, next)
		case err == nil || !errors.Is(err, ErrConflict):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}

// takeNext makes the pointer name the first run in its queue.
func (s *Store) takeNext(ctx context.Context, p *Pointer) (*Entry, error) {
	generation := p.Generation + 1
	e, err := s.ChangeEntry(ctx, p.Queue[0], func(e *Entry) error {
		if e.End != nil {
			return &EndedError{End: *e.End, Seq: e.Seq}
		}
		e.Generation = generation
		return nil
	})
	if err != nil {
		return nil, err
	}
	p.Queue = p.Queue[1:]
	p.Advance(e.RunID, generation, "")
	return e, nil
}

// stillQueued leaves out the runs that have ended or are gone.
func (s *Store) stillQueued(ctx context.Context, queue []subjects.RunID) ([]subjects.RunID, error) {
	queue = slices.Clone(queue)
	for i := 0; i < len(queue); {
		active, err := s.Active(ctx, queue[i])
		if err != nil {
			return nil, err
		}
		if active {
			i++
			continue
		}
		queue = slices.Delete(queue, i, i+1)
	}
	return queue, nil
}
