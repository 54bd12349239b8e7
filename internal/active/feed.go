package active

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// Config says what a feed reads from and within which bounds.
type Config struct {
	Store    *runs.Store   // required
	Grace    time.Duration // how long it goes on when nobody asks any more; 0 means 30 s
	Reread   time.Duration // the longest time between reads of everything; 0 means 30 s
	Patience time.Duration // how long a subscriber waits for the first of them; 0 means 5 s
	Backlog  int           // changes that a subscriber may be behind; 0 means 4096
	MaxRuns  int           // runs that a subscription may begin with; 0 means 10,000
	Logger   *slog.Logger  // may be nil
}

// Feed tells which runs are live. All methods may be called at once.
type Feed struct {
	cfg Config
	log *slog.Logger
	wg  sync.WaitGroup

	mu      sync.Mutex
	asking  int
	session *session // nil while nobody asks
	expiry  *time.Timer
	closed  bool
}

// New makes a feed that does nothing until somebody asks.
func New(cfg Config) *Feed {
	cfg.Grace = or(cfg.Grace, 30*time.Second)
	cfg.Reread = or(cfg.Reread, 30*time.Second)
	cfg.Patience = or(cfg.Patience, 5*time.Second)
	cfg.Backlog = or(cfg.Backlog, 4096)
	cfg.MaxRuns = or(cfg.MaxRuns, 10_000)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Feed{cfg: cfg, log: cfg.Logger}
}

func or[T int | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}

// Subscribe begins with the runs of a realm that are live, and goes on with what changes.
// The first subscriber waits until everything has been read. The error is ErrUnavailable
// while the broker does not answer, ErrClosed, or ctx's cause. Close the subscription.
func (f *Feed) Subscribe(ctx context.Context, realm subjects.Realm) (*Subscription, error) {
	s, err := f.acquire()
	if err != nil {
		return nil, err
	}
	if err := s.awaitReady(ctx); err != nil {
		f.release()
		return nil, err
	}
	return s.join(realm), nil
}

// acquire gives the session, and makes it for the first who asks.
func (f *Feed) acquire() (*session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, ErrClosed
	}
	if f.session == nil {
		s, err := f.begin()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		f.session = s
	}
	f.asking++
	if f.expiry != nil {
		f.expiry.Stop()
	}
	return f.session, nil
}

// release is acquire's opposite. The session stays for a while: who has gone often comes
// back.
func (f *Feed) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asking--; f.asking == 0 && !f.closed {
		f.expiry = time.AfterFunc(f.cfg.Grace, f.expire)
	}
}

func (f *Feed) expire() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asking == 0 && f.session != nil {
		f.session.cancel()
		f.session = nil
	}
}

// Close ends the feed and waits for its goroutines. Subscribers that are left get
// ErrClosed. It may be called twice.
func (f *Feed) Close() {
	f.mu.Lock()
	f.closed = true
	if f.expiry != nil {
		f.expiry.Stop()
	}
	if f.session != nil {
		f.session.cancel()
		f.session = nil
	}
	f.mu.Unlock()
	f.wg.Wait()
}
