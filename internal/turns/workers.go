package turns

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rejoin/rejoin/internal/runs"
)

// Workers opens the work queue's consumer, which all workers share. Where it is missing
// it is made, unless Config.NoProvision is set: then the error is runs.ErrNotProvisioned.
// It is runs.ErrForbidden where the user may not.
func (q *Queue) Workers(ctx context.Context) (*Claimer, error) {
	c := &Claimer{queue: q}
	if err := c.open(ctx); err != nil {
		return nil, fmt.Errorf("opening the work queue: %w", err)
	}
	return c, nil
}

// reopenTimeout bounds one look for the consumer: a broker that is coming up may forget
// that it was asked.
const reopenTimeout = 2 * time.Second

// open finds the consumer, or makes it.
func (c *Claimer) open(ctx context.Context) error {
	store, cfg := c.queue.store, c.queue.cfg
	found, err := store.Workers(ctx)
	missing := errors.Is(err, runs.ErrNotProvisioned)
	other := err == nil && cfg.AckWait > 0 && found.CachedInfo().Config.AckWait != cfg.AckWait
	if (missing || other) && !cfg.NoProvision {
		if err = store.MakeWorkers(ctx, cfg.AckWait); err == nil {
			found, err = store.Workers(ctx)
		}
	}
	if err != nil {
		return err
	}
	c.consumer.Store(&found)
	return nil
}

// reopen looks for the consumer anew where why says that it is gone, and makes it again
// where it may. It returns why no turn can be claimed.
func (c *Claimer) reopen(ctx context.Context, why error) error {
	if !gone(why) {
		return why
	}
	ctx, cancel := context.WithTimeout(ctx, reopenTimeout)
	defer cancel()
	if err := c.open(ctx); err != nil {
		return fmt.Errorf("%w; looking for the work queue again: %w", why, err)
	}
	return why
}

// gone says whether the broker has no such consumer, or somebody removed it just now.
func gone(err error) bool {
	for _, e := range []error{jetstream.ErrConsumerDeleted, jetstream.ErrConsumerNotFound,
		jetstream.ErrConsumerDoesNotExist, nats.ErrNoResponders} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
