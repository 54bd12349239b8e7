package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go"

	"github.com/rejoin/rejoin/subjects"
)

// maxStarts is how many repeated starts a pointer remembers. A client repeats a
// start within seconds, so the last few suffice and the pointer stays small.
const maxStarts = 16

// Pointer names the newest run of a chat.
type Pointer struct {
	RunID      subjects.RunID `json:"run_id"`
	Generation uint64         `json:"generation"` // grows with every start in the chat
	Starts     []TokenStart   `json:"starts,omitempty"`
	// Queue holds the runs whose turns wait behind RunID, the next one first.
	Queue []subjects.RunID `json:"queue,omitempty"`

	key      string
	revision uint64
}

// TokenStart remembers which run a client's token started.
type TokenStart struct {
	Token string         `json:"token"`
	RunID subjects.RunID `json:"run_id"`
}

// Started gives the run that an earlier start with this token made. The empty
// token never matches.
func (p *Pointer) Started(token string) (subjects.RunID, bool) {
	for _, st := range p.Starts {
		if token != "" && st.Token == token {
			return st.RunID, true
		}
	}
	return "", false
}

// Advance makes the pointer name a newer run. token may be empty.
func (p *Pointer) Advance(id subjects.RunID, generation uint64, token string) {
	p.RunID, p.Generation = id, generation
	p.remember(id, token)
}

// Enqueue puts a run behind all others of the chat. token may be empty.
func (p *Pointer) Enqueue(id subjects.RunID, token string) {
	p.Queue = append(p.Queue, id)
	p.remember(id, token)
}

// forget takes back what remember did for a run.
func (p *Pointer) forget(id subjects.RunID) {
	p.Starts = slices.DeleteFunc(p.Starts, func(st TokenStart) bool { return st.RunID == id })
}

func (p *Pointer) remember(id subjects.RunID, token string) {
	if token == "" {
		return
	}
	p.Starts = append(p.Starts, TokenStart{Token: token, RunID: id})
	if extra := len(p.Starts) - maxStarts; extra > 0 {
		p.Starts = append(p.Starts[:0:0], p.Starts[extra:]...)
	}
}

// Pointer reads a chat's pointer at the leader. A chat without one gives a pointer
// with an empty RunID, from which the first SetPointer goes out, and no error.
func (s *Store) Pointer(ctx context.Context, realm subjects.Realm, chat string) (*Pointer, error) {
	key, err := subjects.PointerKey(realm, chat)
	if err != nil {
		return nil, err
	}
	p := &Pointer{key: key}
	m, err := s.lastOf(ctx, subjects.BucketStream, subjects.KeySubject(key))
	switch {
	case errors.Is(err, ErrNotFound):
		return p, nil
	case err != nil:
		return nil, err
	case m.deleted():
		p.revision = m.seq
		return p, nil
	}
	return parsePointer(m, key)
}

func parsePointer(m message, key string) (*Pointer, error) {
	p := &Pointer{key: key, revision: m.seq}
	if err := json.Unmarshal(m.data, p); err != nil {
		return nil, fmt.Errorf("pointer at %s: %w", m.subject, err)
	}
	return p, nil
}

// SetPointer moves the pointer that p was read as. ErrConflict says that another
// start came first.
func (s *Store) SetPointer(ctx context.Context, p *Pointer) error {
	value, err := encode(p)
	if err != nil {
		return err
	}
	p.revision, err = s.settleKey(ctx, subjects.KeySubject(p.key), value, p.revision)
	return err
}

// dropPointer removes a chat's pointer if it still names the run. Turns that wait behind
// the run get their time first, or nobody would know of them any more.
func (s *Store) dropPointer(ctx context.Context, realm subjects.Realm, chat string, id subjects.RunID) error {
	for {
		p, err := s.Pointer(ctx, realm, chat)
		if err != nil || p.RunID != id {
			return err
		}
		if len(p.Queue) > 0 {
			err = s.Promote(ctx, realm, chat)
		} else if err = s.deleteKey(ctx, subjects.KeySubject(p.key), p.revision, subjects.MarkerTTL); err == nil {
			return nil
		}
		if err != nil && !errors.Is(err, ErrConflict) || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
	}
}

// WatchPointer calls wake whenever the chat's pointer has changed, from the
// connection's own goroutine: wake must not block. It tells that something
// changed and not what, at most once, and may miss a change: read the pointer
// after it returns, and again after a reconnect. stop ends it.
func (s *Store) WatchPointer(realm subjects.Realm, chat string, wake func()) (stop func(), err error) {
	key, err := subjects.PointerKey(realm, chat)
	if err != nil {
		return nil, err
	}
	sub, err := s.nc.Subscribe(subjects.PointerSubject(key), func(*nats.Msg) { wake() })
	if err != nil {
		return nil, fmt.Errorf("watching a chat's pointer: %w", err)
	}
	return func() { _ = sub.Unsubscribe() }, nil
}
