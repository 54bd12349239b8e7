package turns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// Claim is a turn that this process was given. It has to be given back by one of Done
// and Release, or another worker gets it after Config.AckWait.
type Claim struct {
	*Turn
	msg jetstream.Msg
}

// Extend gives the claim its whole time again.
func (c *Claim) Extend() error { return c.msg.InProgress() }

// Done takes the turn out of the queue: its run has begun, or never will. Failing to is
// harmless, since the next who claims it finds that.
func (c *Claim) Done(ctx context.Context) error { return c.msg.DoubleAck(ctx) }

// Release gives the turn to another worker at once.
func (c *Claim) Release() error { return c.msg.Nak() }

// How a worker asks for turns.
const (
	claimWait     = 30 * time.Second // one question
	claimRetry    = 100 * time.Millisecond
	claimMaxRetry = 5 * time.Second
	claimSettle   = 250 * time.Millisecond // after a reconnect
	doneTimeout   = 5 * time.Second
)

// Claimer takes turns out of the work queue. Its methods may be called at once.
type Claimer struct {
	queue    *Queue
	consumer atomic.Pointer[jetstream.Consumer]
	failing  atomic.Pointer[error]
	trouble  runs.Trouble
}

// Failing is why the work queue could not be read when it was asked last, nil where it could.
func (c *Claimer) Failing() error {
	if err := c.failing.Load(); err != nil {
		return *err
	}
	return nil
}

// Next waits for a turn whose run has not begun, and claims it. It asks again for as
// long as the broker is away; the error is ctx's.
func (c *Claimer) Next(ctx context.Context) (*Claim, error) {
	wait := claimRetry
	for {
		claim, err := c.next(ctx)
		switch {
		case claim != nil:
			c.well()
			return claim, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil:
			c.well()
			wait = claimRetry
			continue
		}
		err = runs.NotConnected(c.reopen(ctx, err))
		c.failing.Store(&err)
		if c.trouble.Due("claim", 0) {
			c.queue.log.Warn("no turns can be claimed; asking again", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.queue.store.Reconnected():
		case <-time.After(wait):
		}
		wait = min(2*wait, claimMaxRetry)
	}
}

// well says that the work queue could be read.
func (c *Claimer) well() {
	c.failing.Store(nil)
	if _, was := c.trouble.Over(); was {
		c.queue.log.Info("turns can be claimed again")
	}
}

// probe asks whether the queue is there again, where it was not: a question for turns is
// answered only once there is one.
func (c *Claimer) probe(ctx context.Context) error {
	if c.Failing() == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, doneTimeout)
	defer cancel()
	if _, err := (*c.consumer.Load()).Info(ctx); err != nil {
		return err
	}
	c.well()
	return nil
}

// next asks once. Neither a claim nor an error means that there was no turn.
func (c *Claimer) next(ctx context.Context) (*Claim, error) {
	if err := c.probe(ctx); err != nil {
		return nil, err
	}
	asking, cancel := context.WithTimeout(ctx, claimWait)
	defer cancel()
	back := c.queue.store.Reconnected()
	batch, err := (*c.consumer.Load()).Fetch(1, jetstream.FetchContext(asking))
	if err != nil {
		return nil, err
	}
	var m jetstream.Msg
	select {
	case m = <-batch.Messages():
	case <-back:
		// The broker forgets who has asked when a turn comes while the connection is away.
		// Where none has come, one may be on its way just now.
		select {
		case m = <-batch.Messages():
		case <-time.After(claimSettle):
			cancel()
			m = <-batch.Messages()
		}
	}
	switch {
	case m == nil:
		if err := batch.Error(); err != nil && asking.Err() == nil {
			return nil, err
		}
		return nil, nil
	case ctx.Err() != nil:
		_ = m.Nak()
		return nil, nil
	}
	claim, err := c.queue.claim(ctx, m)
	if err != nil {
		_ = m.NakWithDelay(claimRetry)
	}
	return claim, err
}

// claim reads what a message of the queue stands for. One whose run has begun, or
// has ended before, is taken out.
func (q *Queue) claim(ctx context.Context, m jetstream.Msg) (*Claim, error) {
	var queued runs.QueuedTurn
	if err := json.Unmarshal(m.Data(), &queued); err != nil {
		q.log.Error("a message in the work queue is no turn and is removed", "subject", m.Subject(), "error", err)
		return nil, m.Term()
	}
	e, err := q.store.Entry(ctx, queued.RunID)
	if errors.Is(err, ErrNotFound) || err == nil && e.State != runs.StateQueued {
		return nil, q.done(ctx, m)
	}
	if err != nil {
		return nil, err
	}
	t, err := q.Turn(ctx, queued.RunID)
	if errors.Is(err, ErrNotFound) {
		return nil, q.done(ctx, m) // it ended just now and left
	}
	if err != nil {
		return nil, err
	}
	return &Claim{Turn: t, msg: m}, nil
}

func (q *Queue) done(ctx context.Context, m jetstream.Msg) error {
	ctx, cancel := context.WithTimeout(ctx, doneTimeout)
	defer cancel()
	return m.DoubleAck(ctx)
}

// Turn reads what a run was asked; ErrNotFound for one that no turn has made.
func (q *Queue) Turn(ctx context.Context, id subjects.RunID) (*Turn, error) {
	body, err := q.store.Turn(ctx, id)
	if err != nil {
		return nil, err
	}
	t, err := parseTurn(body)
	if err != nil {
		return nil, fmt.Errorf("turn of run %s: %w", id, err)
	}
	return t, nil
}
