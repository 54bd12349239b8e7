package runs

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// reconnects tells any number of waiters that the connection has come back, so
// that each asks anew for what it may have missed meanwhile.
type reconnects struct {
	mu      sync.Mutex
	next    chan struct{}
	calls   map[uint64]context.CancelFunc // attempts that a reconnect ends
	counter uint64
	done    chan struct{}
	wg      sync.WaitGroup
}

func watchReconnects(nc *nats.Conn, lost func(error)) *reconnects {
	r := &reconnects{next: make(chan struct{}), calls: map[uint64]context.CancelFunc{}, done: make(chan struct{})}
	status := nc.StatusChanged(nats.CONNECTED)
	r.wg.Go(func() {
		defer nc.RemoveStatusListener(status)
		for {
			select {
			case <-r.done:
				return
			case _, ok := <-status:
				if !ok { // the connection is closed for good
					lost(nats.ErrConnectionClosed)
					return
				}
				r.mu.Lock()
				close(r.next)
				r.next = make(chan struct{})
				for _, cancel := range r.calls {
					cancel()
				}
				r.mu.Unlock()
				lost(nats.ErrDisconnected)
			}
		}
	})
	return r
}

// Reconnected is closed when the connection next comes back. Ask for it before
// reading what a lost connection could hide.
func (s *Store) Reconnected() <-chan struct{} {
	s.reconnects.mu.Lock()
	defer s.reconnects.mu.Unlock()
	return s.reconnects.next
}

// untilReconnect is a context that also ends when the connection next comes back: what
// was asked before will not be answered any more. It is for callers that settle an
// unknown outcome and try again. The function returned must be called.
func (s *Store) untilReconnect(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	r := s.reconnects
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counter++
	n := r.counter
	r.calls[n] = cancel
	return ctx, func() {
		cancel()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.calls, n)
	}
}

// pause waits before a question is asked again, and doubles the next wait. It ends early
// when the connection comes back; false says that ctx is done.
func (s *Store) pause(ctx context.Context, wait *time.Duration) bool {
	again := time.NewTimer(*wait)
	defer again.Stop()
	*wait = min(2**wait, longestRetry)
	select {
	case <-ctx.Done():
		return false
	case <-s.Reconnected():
	case <-again.C:
	}
	return true
}

// Close stops what Open started and leaves the connection open. It may be called
// twice.
func (s *Store) Close() {
	s.closeOnce.Do(func() { close(s.reconnects.done) })
	s.reconnects.wg.Wait()
	s.post.close()
	s.replies.close()
}
