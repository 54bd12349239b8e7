package proc

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Set is the children of this process. Its methods may be called from any goroutine.
type Set struct {
	mu   sync.Mutex
	kids []*Child
	done bool
}

// Spec says what to start.
type Spec struct {
	Name string   // required; what the child is, as errors and results name it
	Path string   // required; the executable
	Args []string // after its name
	Env  []string // NAME=value, besides what this process has
	// Without are beginnings of names of variables that the child does not get from this
	// process.
	Without []string
	// Says begins the line, on standard output, that ends in the address. "" means that
	// any line does.
	Says string
	// Wait is how long the child may take to serve; 0 means 30 s.
	Wait time.Duration
}

const defaultWait = 30 * time.Second

// Start starts a child and returns once it serves. The error wraps ErrStart, or is that of
// the context.
func (s *Set) Start(ctx context.Context, spec Spec) (*Child, error) {
	c, err := begin(spec)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrStart, spec.Name, err)
	}
	s.mu.Lock()
	done := s.done
	if !done {
		s.kids = append(s.kids, c)
	}
	s.mu.Unlock()
	if done {
		c.Kill()
		return nil, fmt.Errorf("%w: %s: the set is closed", ErrStart, spec.Name)
	}
	if err := c.ready(ctx, spec.Wait); err != nil {
		c.Kill()
		return nil, err
	}
	return c, nil
}

// Close kills what still runs and returns once all of it is gone. A second call does
// nothing.
func (s *Set) Close() {
	s.mu.Lock()
	kids := s.kids
	s.kids, s.done = nil, true
	s.mu.Unlock()
	for i := len(kids) - 1; i >= 0; i-- { // what came last may depend on what came first
		kids[i].Kill()
	}
}
