package app

import (
	"context"
	"sync"
	"time"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/producer/worker"
	page "github.com/rejoin/rejoin/relay/demo"
)

// mortal is the demo's worker, and what produces runs to watch, as if they were a process
// of their own: with a connection, a lease and a producer that nothing else uses, so
// that they can be killed, and a successor begun, while the relay beside them goes on.
type mortal struct {
	cfg      Config
	server   *natsd.Server
	produced producer.Metrics
	worked   worker.Metrics
	grace    time.Duration

	mu  sync.Mutex
	now *life // nil between two lives
}

// successorAfter is how long nobody is there after a kill: long enough to be seen.
const successorAfter = 2 * time.Second

// newMortal begins the first life, which does nothing until run. The error is as of
// newWorker, or wraps ErrBroker.
func newMortal(ctx context.Context, cfg Config, b *broker, produced producer.Metrics, worked worker.Metrics, grace time.Duration) (*mortal, error) {
	m := &mortal{cfg: cfg, server: b.server, produced: produced, worked: worked, grace: grace}
	var err error
	m.now, err = m.begin(ctx)
	return m, err
}

// run lives one life after the other until ctx is done, and has then closed the last.
func (m *mortal) run(ctx context.Context, hurry <-chan struct{}) {
	for loopAfter := time.Duration(0); ; loopAfter = 2*m.cfg.Lease + time.Second {
		if l := m.current(); l != nil {
			l.live(ctx, hurry, loopAfter)
			m.set(nil)
		}
		if !pause(ctx, successorAfter) {
			return
		}
		l, err := m.begin(ctx)
		if err != nil && ctx.Err() == nil {
			m.cfg.Logger.Error("the demo's worker cannot be begun; it is tried again", "error", err)
		}
		m.set(l)
	}
}

// kill ends the life there is, if there is one, and returns when it is dead.
func (m *mortal) kill() page.Death {
	if l := m.current(); l != nil {
		l.die()
		m.cfg.Logger.Warn("the demo's producer was killed, as it was asked to be", "successor_in", successorAfter)
	}
	return page.Death{Lease: m.cfg.Lease, Back: successorAfter}
}

// close ends a life that run has not lived.
func (m *mortal) close() {
	if l := m.current(); l != nil {
		l.die()
		l.end()
		m.set(nil)
	}
}

func (m *mortal) current() *life {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func (m *mortal) set(l *life) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = l
}

// pause waits; false says that ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
