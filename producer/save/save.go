package save

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/rejoin/rejoin/subjects"
)

// ErrStale is returned by a Saver that wrote nothing since the chat has moved on.
var ErrStale = errors.New("the chat has moved on")

// Turn is an answered turn as it is saved.
type Turn struct {
	Tenant     string
	ChatID     string
	Owner      string // "" for none
	TurnID     string
	Kind       string
	RunID      subjects.RunID
	Generation uint64          // the run's place in its chat: the higher the newer
	Input      json.RawMessage // what was asked, a JSON object
	Events     []byte          // what was answered: the run's events folded, one a line
	Reason     subjects.Reason // why the run ends
	StartedAt  time.Time
	EndedAt    time.Time
}

// Saver stores turns where an application finds them again. Its method is called at
// once for many turns.
type Saver interface {
	// Save returns nil only when the turn is stored for good, and ErrStale when it
	// wrote nothing since the chat has moved on. It must return when ctx is done. It
	// may be called again for a turn whose outcome is not known.
	Save(ctx context.Context, t *Turn) error
}

// Func is a Saver that is only a function.
type Func func(ctx context.Context, t *Turn) error

// Save calls f.
func (f Func) Save(ctx context.Context, t *Turn) error { return f(ctx, t) }
