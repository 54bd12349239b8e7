package probe

import (
	"context"
	"sync"
	"time"
)

// progress is how far the run is. It is safe for concurrent use.
type progress struct {
	mu     sync.Mutex
	sent   []time.Time // by seq - 1: when its request was sent first
	stored uint64
	moved  chan struct{} // closed and replaced when stored grows
}

func newProgress() *progress { return &progress{moved: make(chan struct{})} }

// sending notes that the events up to that seq are on their way.
func (p *progress) sending(to uint64) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for uint64(len(p.sent)) < to {
		p.sent = append(p.sent, now)
	}
}

// store notes that the events up to that seq are stored.
func (p *progress) store(to uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stored = to
	close(p.moved)
	p.moved = make(chan struct{})
}

// wait waits until the events up to that seq are stored.
func (p *progress) wait(ctx context.Context, seq uint64) error {
	for {
		p.mu.Lock()
		stored, moved := p.stored, p.moved
		p.mu.Unlock()
		if stored >= seq {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// lag is how long ago an event was sent.
func (p *progress) lag(seq uint64) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if seq == 0 || seq > uint64(len(p.sent)) {
		return 0
	}
	return time.Since(p.sent[seq-1])
}
