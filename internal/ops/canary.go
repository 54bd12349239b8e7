package ops

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// CanaryConfig says whom a Canary asks.
type CanaryConfig struct {
	// Ping asks the broker for something small. Required.
	Ping func(context.Context) error
	// Keep is how long an answer counts, so that probes cost the broker nothing however
	// many there are; 0 means 1 s.
	Keep time.Duration
	// Timeout is how long the broker may take; 0 means 1 s. Probes commonly give up
	// after a second or two.
	Timeout time.Duration
	// Every is how often Run asks; 0 means 5 s.
	Every time.Duration
	// Asked is told of every answer, and how long it took. It may be nil.
	Asked func(took time.Duration, err error)
}

// Canary knows whether the broker answers. Its methods may be called at once from
// anywhere.
type Canary struct {
	cfg CanaryConfig

	mu  sync.Mutex
	at  time.Time
	err error
}

// NewCanary makes one that asks nothing until Check or Run.
func NewCanary(cfg CanaryConfig) *Canary {
	cfg.Keep = cmp.Or(cfg.Keep, time.Second)
	cfg.Timeout = cmp.Or(cfg.Timeout, time.Second)
	cfg.Every = cmp.Or(cfg.Every, 5*time.Second)
	return &Canary{cfg: cfg}
}

// Check asks the broker, unless it was asked just now; nil says that it answers. Those who
// call meanwhile wait for the same answer, and nobody longer than the timeout.
func (c *Canary) Check() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.at.IsZero() && time.Since(c.at) < c.cfg.Keep {
		return c.err
	}
	// Not the context of whoever asks: the answer is for everybody.
	ctx, cancel := context.WithTimeout(context.Background(), c.cfg.Timeout)
	defer cancel()
	from := time.Now()
	c.err = c.cfg.Ping(ctx)
	c.at = time.Now()
	if c.cfg.Asked != nil {
		c.cfg.Asked(c.at.Sub(from), c.err)
	}
	return c.err
}

// Run asks every now and then until ctx is done, so that there are numbers also where
// nobody probes. It blocks.
func (c *Canary) Run(ctx context.Context) {
	due := time.NewTicker(c.cfg.Every)
	defer due.Stop()
	for {
		_ = c.Check()
		select {
		case <-ctx.Done():
			return
		case <-due.C:
		}
	}
}
