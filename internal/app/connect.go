package app

import (
	"context"
	"fmt"
	"time"
)

// How long to wait between attempts to reach a broker that is not there yet.
const (
	firstAttempt = 200 * time.Millisecond
	lastAttempt  = 3 * time.Second
)

// connect waits for the broker: relays and broker are often started together. An
// embedded one is there, so its first answer is final.
func (b *broker) connect(ctx context.Context, cfg Config, name string) error {
	return b.waitFor(ctx, cfg, func(ctx context.Context) error { return b.dial(ctx, cfg, name) })
}

// waitFor tries until it succeeds, it is hopeless, or the time for it is over.
func (b *broker) waitFor(ctx context.Context, cfg Config, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, cfg.Connect)
	defer cancel()
	until, _ := ctx.Deadline()
	for wait := firstAttempt; ; wait = min(2*wait, lastAttempt) {
		err := try(ctx)
		switch {
		case err == nil:
			return nil
		case b.server != nil:
			return fmt.Errorf("%w: %w", ErrBroker, err)
		case hopeless(err) || time.Until(until) < wait:
			return fmt.Errorf("%w at %s: %w", ErrBroker, cfg.servers(), err)
		}
		logWait(cfg.Logger, cfg.servers(), time.Until(until), err)
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w at %s: %w", ErrBroker, cfg.servers(), err)
		case <-time.After(wait):
		}
	}
}
