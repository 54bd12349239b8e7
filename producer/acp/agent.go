package acp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/rejoin/rejoin/producer/agent"
)

// Agent answers turns with processes that speak ACP, one for each chat that was active
// of late. It is safe for concurrent use.
type Agent struct {
	cfg  Config
	id   string   // tells this Agent from those of other workers
	root *os.Root // nil without Config.Root

	over   context.Context // ends with Close
	finish context.CancelCauseFunc
	work   sync.WaitGroup // turns and processes

	mu       sync.Mutex
	closed   bool
	chats    map[string]*chat
	conns    map[*conn]struct{} // processes that have not ended
	starting int                // those that are not among conns yet
	ended    chan struct{}      // closed, and replaced, when one has ended
	uses     uint64             // counts uses of chats, to tell which was used longest ago
}

var _ agent.Agent = (*Agent)(nil)

// New makes an Agent. No process is started before the first turn.
func New(cfg Config) (*Agent, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	a := &Agent{cfg: cfg, id: rand.Text(), chats: map[string]*chat{}, conns: map[*conn]struct{}{}, ended: make(chan struct{})}
	if cfg.Root != "" {
		if a.root, err = os.OpenRoot(cfg.Root); err != nil {
			return nil, fmt.Errorf("open the root of agents: %w", err)
		}
	}
	a.over, a.finish = context.WithCancelCause(context.Background())
	return a, nil
}

// Run answers one turn: it prompts the chat's agent, which it starts if need be, and
// publishes what that does. It publishes the turn's terminal event itself, unless the
// turn was stopped and the agent did not end it.
func (a *Agent) Run(ctx context.Context, t agent.Turn) error {
	if !a.enter() {
		return ErrClosed
	}
	defer a.work.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(a.over, func() { cancel(ErrClosed) })()

	r := newTurn(ctx, t, a.cfg.Logger)
	defer r.seal()
	if err := r.start(); err != nil {
		return r.fail(ctx, err)
	}
	said, err := userContent(t.Request().Input)
	if err != nil {
		return r.fail(ctx, err)
	}
	ch := a.chat(t.Request())
	defer a.forget(ch)
	if err := ch.lock(ctx, a.cfg.CancelTimeout, a.kill); err != nil {
		return r.fail(ctx, err)
	}
	defer ch.unlock()
	a.recall(ctx, t, ch)
	c, err := a.connFor(ctx, ch)
	if err != nil {
		return r.fail(ctx, err)
	}
	defer a.release(ch, c)
	a.remember(ctx, t, c.sessionID(), c.log)
	result, err := c.prompt(ctx, r, said.blocks(c.caps))
	if err != nil {
		return r.fail(ctx, err)
	}
	return r.finish(result)
}

// enter counts a turn, unless the Agent is closed.
func (a *Agent) enter() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.work.Add(1)
	}
	return !a.closed
}

// Close stops all turns, ends all processes and waits for both. When ctx ends first it
// kills the processes, still waits, and returns the cause of ctx. A second call waits for
// the same.
func (a *Agent) Close(ctx context.Context) error {
	a.mu.Lock()
	a.closed = true
	for _, ch := range a.chats {
		if ch.idle {
			ch.drop()
		}
	}
	a.mu.Unlock()
	a.finish(ErrClosed)

	gone := make(chan struct{})
	go func() {
		defer close(gone)
		a.work.Wait()
	}()
	var late error
	select {
	case <-gone:
	case <-ctx.Done():
		late = fmt.Errorf("agents had to be killed: %w", context.Cause(ctx))
		a.mu.Lock()
		for c := range a.conns {
			c.kill(ErrClosed)
		}
		a.mu.Unlock()
		<-gone
	}
	if a.root != nil {
		if err := a.root.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			late = errors.Join(late, err)
		}
	}
	return late
}
