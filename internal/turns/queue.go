package turns

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/rejoin/rejoin/internal/runs"
)

// Config says how a Queue works. The zero value is ready.
type Config struct {
	// MaxInput is the largest input in bytes; 0 means DefaultMaxInput.
	MaxInput int
	// AckWait is how long a claimed turn may take to begin before another worker is
	// given it; 0 means as it is set, which is subjects.AckWait where nobody changed it.
	AckWait time.Duration
	// NoProvision leaves it to others to make the work queue's consumer.
	NoProvision bool
	Logger      *slog.Logger // may be nil
}

// DefaultMaxInput is what a conversation of some length takes: a stock client sends all
// of it along with every message.
const DefaultMaxInput = 4 << 20

// Queue is the chats' turns, as one process sees them through one connection. It keeps
// nothing that is not in the broker.
type Queue struct {
	store *runs.Store
	cfg   Config
	log   *slog.Logger
}

// New makes a queue. The store stays the caller's and has to outlive it.
func New(store *runs.Store, cfg Config) *Queue {
	cfg.MaxInput = cmp.Or(cfg.MaxInput, DefaultMaxInput)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Queue{store: store, cfg: cfg, log: cfg.Logger}
}

// MaxInput is the largest input in bytes.
func (q *Queue) MaxInput() int { return q.cfg.MaxInput }
