package save

import (
	"context"
	"encoding/json"
	"time"

	"github.com/rejoin/rejoin/subjects"
)

// Turn is a turn that is over, but for being saved.
type Turn struct {
	Realm  subjects.Realm // whose chat it is
	ChatID string
	Owner  string // "" for none
	TurnID string
	RunID  subjects.RunID
	Kind   string // send, retry, edit, steer, approval, heartbeat, canvas, or the application's own

	// Generation is the run's place in its chat: higher is newer. It begins anew in a
	// chat that was idle for longer than runs are retained.
	Generation uint64

	Input  json.RawMessage // what was asked: a JSON object
	Events []byte          // what the run came to: AG-UI events, adjacent deltas joined, one a line
	Reason subjects.Reason // why it ends: done, error or stopped

	StartedAt time.Time
	EndedAt   time.Time
}

// Saver stores turns.
type Saver interface {
	// Save returns nil only when the turn is stored for good. The error matches
	// ErrStale when the chat has moved on and nothing was written; after any other
	// it counts as not saved. It must return when ctx is done, and may be called
	// at once for many turns, and again for the same one. t must not be changed, nor
	// kept once Save has returned.
	Save(ctx context.Context, t *Turn) error
}

// Func is a Saver that is only a function.
type Func func(ctx context.Context, t *Turn) error

// Save calls f.
func (f Func) Save(ctx context.Context, t *Turn) error { return f(ctx, t) }
