package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rejoin/rejoin/internal/tracing"
	"github.com/rejoin/rejoin/producer/acp/rpc"
	"github.com/rejoin/rejoin/producer/agent"
)

const (
	// quiet is how long after a response, or after an update behind it, a further update
	// still belongs to the turn; lateness is how long after the response at most.
	quiet    = 250 * time.Millisecond
	lateness = time.Second
	// pulse is how often it is looked whether the agent still has its input open.
	pulse = 500 * time.Millisecond
)

// answer is the response to a prompt.
type answer struct {
	result json.RawMessage
	err    error
}

// prompt prompts the agent and gives its result, once what it said is published. ctx is
// the turn's: when it ends the agent is told to cancel, and killed if it does not.
func (c *conn) prompt(ctx context.Context, t *turn, blocks []object) (json.RawMessage, error) {
	t.use(c.terminals)
	c.begin(t)
	defer c.finish()

	ctx, span := tracing.Child(ctx, "session/prompt", tracing.Client)
	defer span.End()
	params := object{"sessionId": c.sessionID(), "prompt": blocks}
	if meta := traceMeta(ctx); meta != nil {
		params["_meta"] = meta
	}
	answered := make(chan answer, 1)
	err := c.peer.Go(ctx, "session/prompt", params,
		func(result json.RawMessage, err error) { answered <- answer{result, err} })
	if err != nil {
		return nil, c.because(ctx, "session/prompt", err)
	}
	a, err := c.await(ctx, t, answered)
	if err != nil {
		return nil, err
	}
	e, ok := errors.AsType[*rpc.Error](a.err)
	if a.err == nil || ok {
		t.settle(c.failed)
	}
	switch {
	case a.err == nil:
		return a.result, nil
	case ok && e.Code == rpc.CodeAuthRequired:
		c.close() // the next process logs in before it is prompted, if it can
		return nil, fmt.Errorf("%w: %w", ErrLogin, c.because(ctx, "session/prompt", e))
	}
	return nil, c.because(ctx, "session/prompt", a.err)
}

// traceMeta says where in a trace a prompt is, under the names that the protocol reserves
// for it; nil where it is in none.
func traceMeta(ctx context.Context) object {
	t := tracing.Of(ctx)
	if t.IsZero() {
		return nil
	}
	meta := object{"traceparent": t.Parent}
	if t.State != "" {
		meta["tracestate"] = t.State
	}
	return meta
}

// await waits for the answer to the prompt, if need be after a cancel.
func (c *conn) await(ctx context.Context, t *turn, answered <-chan answer) (answer, error) {
	look := time.NewTicker(pulse)
	defer look.Stop()
	for {
		select {
		case a := <-answered:
			return a, nil
		case <-look.C:
			if c.proc.Deaf() {
				c.peer.Fail(rpc.ErrRefused)
			}
		case <-t.lost:
			return c.cancel(t, agent.ErrOver, answered)
		case <-ctx.Done():
			return c.cancel(t, context.Cause(ctx), answered)
		}
	}
}

// cancel tells the agent to cancel, answers what it asks, and waits for its answer to the
// prompt. An agent that does not give one is killed.
func (c *conn) cancel(t *turn, why error, answered <-chan answer) (answer, error) {
	ctx, done := context.WithTimeout(context.Background(), c.cfg.CancelTimeout)
	defer done()
	_ = c.peer.Notify(ctx, "session/cancel", object{"sessionId": c.sessionID()})
	t.hush(why)
	t.stopped.Store(true)
	select {
	case a := <-answered:
		if a.err != nil {
			return a, why
		}
		return a, nil
	case <-ctx.Done():
		c.log.Warn("the agent did not cancel, its process is killed", "within", c.cfg.CancelTimeout)
		c.kill(why)
		return answer{}, why
	}
}
