package runs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rejoin/rejoin/subjects"
)

// A canary is written at most every canaryEvery and leaves by itself after canaryTTL. It
// is some 200 bytes of one message, and a process that pings all the time costs the
// broker a quarter of a write a second.
const (
	canaryEvery = 4 * time.Second
	canaryTTL   = time.Minute
)

// canary remembers when a store last knew that the broker stores.
type canary struct {
	mu     sync.Mutex
	key    string // of this store
	stored time.Time
}

// Ping says whether the broker can serve: the main bucket's leader stores a small value,
// or, where it did just now, answers a question. A question alone would not do: a broker
// whose disk is full, or whose account has no room left, answers and stores nothing.
func (s *Store) Ping(ctx context.Context) error {
	c := &s.canary
	c.mu.Lock()
	due := time.Since(c.stored) >= canaryEvery
	c.mu.Unlock()
	if !due {
		_, err := s.lastOf(ctx, subjects.BucketStream, subjects.KeySubject(c.key))
		if err == nil || errors.Is(err, ErrNotFound) {
			return nil
		}
		return err
	}
	from := time.Now()
	err := s.question(ctx, func(ctx context.Context) error {
		_, err := s.put(ctx, &nats.Msg{Subject: subjects.KeySubject(c.key),
			Header: nats.Header{jetstream.MsgTTLHeader: {canaryTTL.String()}}}, nil)
		return err
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.stored = time.Time{}
		return fmt.Errorf("the broker does not store: %w", err)
	}
	c.stored = from
	return nil
}
