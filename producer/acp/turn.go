package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rejoin/rejoin/producer/acp/process"
	"github.com/rejoin/rejoin/producer/acp/translate"
	"github.com/rejoin/rejoin/producer/agent"
)

// turn is the near side of one turn: what the agent sends becomes its events, until it
// is sealed.
type turn struct {
	agent.Turn
	log *slog.Logger

	publish  context.Context // ends when the turn is sealed, not when it is stopped
	unblock  context.CancelFunc
	asking   context.Context // ends when nobody is asked any more
	hush     context.CancelCauseFunc
	asks     sync.WaitGroup
	lost     chan struct{} // closed when nothing can be published any more
	loseOnce sync.Once
	touched  chan struct{} // has one after an update
	stopped  atomic.Bool   // the agent was told to cancel; some say that they ended well then

	mu        sync.Mutex // held while events are made and published
	tr        *translate.Translator
	terminals *terminals // may be nil
	sealed    bool
}

func newTurn(ctx context.Context, t agent.Turn, log *slog.Logger) *turn {
	req := t.Request()
	r := &turn{
		Turn: t, log: log.With("run", req.RunID.String()),
		lost: make(chan struct{}), touched: make(chan struct{}, 1),
	}
	ctx = context.WithoutCancel(ctx)
	r.publish, r.unblock = context.WithCancel(ctx)
	r.asking, r.hush = context.WithCancelCause(ctx)
	r.tr = translate.New(translate.Config{
		ChatID: req.ChatID, RunID: req.RunID.String(), Input: req.Input,
		Terminal: func(id string) json.RawMessage { return r.terminals.tail(id) },
	}, r.emit)
	return r
}

// emit publishes one event. One that is refused is left out, and the turn goes on.
func (t *turn) emit(event []byte) error {
	err := t.Publish(t.publish, event)
	switch {
	case err == nil:
	case errors.Is(err, agent.ErrOver):
		t.loseOnce.Do(func() { close(t.lost) })
	case t.publish.Err() == nil:
		t.log.Warn("an event of the agent was refused", "bytes", len(event), "error", err)
	}
	return nil
}

// use says whose terminals the turn's tool calls show.
func (t *turn) use(all *terminals) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.terminals = all
}

func (t *turn) start() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.tr.Start(); err != nil {
		return fmt.Errorf("%w: %w", ErrInput, err)
	}
	return nil
}

// update publishes what an update says. It reports whether the turn still takes any.
func (t *turn) update(u json.RawMessage) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sealed {
		return false
	}
	if err := t.tr.Update(u); err != nil {
		t.log.Warn("an update of the agent was left out", "error", process.Clean([]byte(err.Error()), maxQuote))
	}
	select {
	case t.touched <- struct{}{}:
	default:
	}
	return true
}

// settle waits until the agent, which has answered, has said nothing for a while. What it
// still asks is answered "cancelled". It ends early when the agent is gone.
func (t *turn) settle(gone <-chan struct{}) {
	t.hush(agent.ErrOver)
	still, late := time.NewTimer(quiet), time.NewTimer(lateness)
	defer still.Stop()
	defer late.Stop()
	for {
		select {
		case <-t.touched:
			still.Reset(quiet)
		case <-still.C:
			return
		case <-late.C:
			return
		case <-gone:
			return
		}
	}
}

// finish ends the turn with the result of its prompt.
func (t *turn) finish(result json.RawMessage) error {
	t.quit()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sealed = true
	if t.stopped.Load() {
		t.tr.Stopped()
	}
	if err := t.tr.Finish(result); err != nil {
		_ = t.tr.Fail("the agent's answer to the prompt is "+process.Clean([]byte(err.Error()), maxQuote), "agent_error")
		return err
	}
	return nil
}

// fail ends the turn with an error. One that was stopped is ended by whoever did so.
func (t *turn) fail(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		t.unblock()
	}
	t.quit()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sealed = true
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if fault := t.tr.Fail(err.Error(), codeOf(err)); fault != nil {
		t.log.Debug("the turn's error was not published", "error", fault)
	}
	return err
}

// quit closes all questions and waits until they are.
func (t *turn) quit() {
	t.hush(agent.ErrOver)
	t.mu.Lock()   // who is about to ask has begun to, or sees that it must not
	t.mu.Unlock() //nolint:staticcheck // SA2001: see above
	t.asks.Wait()
}

// seal ends all that may still wait. Events are published no more.
func (t *turn) seal() {
	t.unblock()
	t.quit()
	t.mu.Lock()
	t.sealed = true
	t.mu.Unlock()
}
