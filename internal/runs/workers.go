package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/rejoin/rejoin/subjects"
)

// Workers finds the consumer of the work queue that all workers share. Without it, or
// without the queue, the error is ErrNotProvisioned.
func (s *Store) Workers(ctx context.Context) (c jetstream.Consumer, err error) {
	err = s.allowed(ctx, s.api+"CONSUMER.INFO."+subjects.TurnsStream+"."+subjects.Workers, func(ctx context.Context) error {
		c, err = s.js.Consumer(ctx, subjects.TurnsStream, subjects.Workers)
		return err
	})
	if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, fmt.Errorf("%w: consumer %s of stream %s does not exist", ErrNotProvisioned, subjects.Workers, subjects.TurnsStream)
	}
	if err != nil {
		return nil, fmt.Errorf("looking for consumer %s of stream %s: %w", subjects.Workers, subjects.TurnsStream, err)
	}
	return c, nil
}

// MakeWorkers makes that consumer, or brings its settings up to date. ackWait 0 means
// subjects.AckWait. The error wraps ErrForbidden where the user may not.
func (s *Store) MakeWorkers(ctx context.Context, ackWait time.Duration) error {
	config := subjects.WorkersConfig()
	if ackWait > 0 {
		config.AckWait = ackWait
	}
	err := s.allowed(ctx, s.api+"CONSUMER.CREATE."+subjects.TurnsStream+"."+subjects.Workers, func(ctx context.Context) error {
		_, err := s.js.CreateOrUpdateConsumer(ctx, subjects.TurnsStream, config)
		return err
	})
	if err != nil {
		return fmt.Errorf("making consumer %s of stream %s: %w", subjects.Workers, subjects.TurnsStream, needsInit(err))
	}
	return nil
}
