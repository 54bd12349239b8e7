package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rejoin/rejoin/internal/tracing"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/producer/agent"
)

// Worker runs an agent for the turns that it claims.
type Worker struct {
	cfg       Config
	log       *slog.Logger
	tracer    *tracing.Tracer
	steerable bool

	places chan struct{}  // one for each turn at once
	jobs   sync.WaitGroup // turns that are not over
	agents sync.WaitGroup // agents that have not returned

	life    context.Context // what agents run in: outlives Run's own by the grace
	end     context.CancelCauseFunc
	hard    context.Context // what turns are ended in: outlives life by what that may take
	stopAll context.CancelFunc

	state atomic.Pointer[state] // nil before the work queue is open

	hurry  chan struct{}
	hurryE sync.Once
	letGo  func() error // of what Connect has opened; nil for a Worker that New made
}

// New makes a worker that does nothing until Run, out of parts that only this module
// has; other modules call Connect. The error wraps ErrConfig.
func New(cfg Config) (*Worker, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	w := &Worker{cfg: cfg, log: cfg.Logger, tracer: tracing.New(cfg.Tracing), places: make(chan struct{}, cfg.Concurrency), hurry: make(chan struct{})}
	w.life, w.end = context.WithCancelCause(context.Background())
	w.hard, w.stopAll = context.WithCancel(context.Background())
	if s, ok := cfg.Agent.(agent.Steerable); ok {
		w.steerable = s.TakesSteering()
	}
	return w, nil
}

// Hurry cuts the grace short. It may be called at any time, more than once.
func (w *Worker) Hurry() { w.hurryE.Do(func() { close(w.hurry) }) }

// Run claims turns and answers them until ctx is done. Then it claims no more, waits for
// those that run as long as the grace lasts, and stops and ends the others. It
// returns nil when all are over; the error, otherwise, is what kept it from opening the
// queue, or ErrAgentRunning. It is called once.
func (w *Worker) Run(ctx context.Context) (err error) {
	if w.letGo != nil {
		defer func() { err = errors.Join(err, w.letGo()) }()
	}
	defer w.stopAll()
	defer w.end(nil)
	claimer, err := w.cfg.Turns.Workers(ctx)
	if ctx.Err() != nil {
		return nil // it was told to end before it began
	}
	if err != nil {
		return err
	}
	w.log.Info("taking turns", "at_once", w.cfg.Concurrency, "steerable", w.steerable)
	w.state.Store(&state{claimer, ctx.Done()})
	for w.claim(ctx, claimer) {
	}
	return w.drain()
}

// claim takes one turn when there is a place for it; false once ctx is done.
func (w *Worker) claim(ctx context.Context, claimer *turns.Claimer) bool {
	select {
	case w.places <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	c, err := claimer.Next(ctx)
	if err != nil {
		<-w.places
		return false
	}
	if f := w.cfg.Metrics.Claimed; f != nil {
		f()
	}
	w.jobs.Go(func() { w.turn(c) })
	return true
}

// beginTimeout bounds how long a claimed turn may take to begin.
const beginTimeout = 5 * time.Second

// turn answers a claimed turn, if nobody has begun it before.
func (w *Worker) turn(c *turns.Claim) {
	j := w.begin(c)
	if j == nil {
		<-w.places
		return
	}
	j.answer()
}

// begin makes a job of a claimed turn. nil says that there is nothing to answer.
func (w *Worker) begin(c *turns.Claim) *job {
	span := w.claimed(c.Turn)
	run := w.beginRun(span.Into(w.life), c)
	if run == nil {
		span.Text("rejoin.begun", "false")
		span.End()
		return nil
	}
	w.waited(c.Turn, span)
	if f := w.cfg.Metrics.Begun; f != nil {
		f()
	}
	if f := w.cfg.Metrics.Waited; f != nil {
		f(time.Since(c.SentAt))
	}
	return newJob(w, run, c.Turn, span)
}

// beginRun begins the claimed turn's run, and takes the turn out of the queue. nil says
// that there is none to begin.
func (w *Worker) beginRun(ctx context.Context, c *turns.Claim) *producer.Run {
	ctx, cancel := context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	ctx, span := tracing.Child(ctx, "begin", tracing.Internal)
	defer span.End()
	run, err := w.cfg.Producer.Begin(ctx, c.RunID, w.steerable)
	switch {
	case errors.Is(err, producer.ErrBegun), errors.Is(err, producer.ErrFenced), errors.Is(err, producer.ErrNotFound):
		w.log.Debug("a claimed turn needs no answer", "run", c.RunID, "why", err)
	case err != nil:
		w.log.Warn("a turn could not be begun; another worker gets it", "run", c.RunID, "error", err)
		_ = c.Release()
		return nil
	}
	if err := c.Done(ctx); err != nil {
		w.log.Debug("a turn is still in the queue; whoever claims it next finds that it has begun", "run", c.RunID, "error", err)
	}
	return run
}

// ErrAgentRunning says that an agent has not returned though its turn is over.
var ErrAgentRunning = errors.New("an agent does not return though its turn is over")

// drain waits for the turns that run, and for their agents.
func (w *Worker) drain() error {
	over := make(chan struct{})
	go func() { // ends with the last turn
		w.jobs.Wait()
		close(over)
	}()
	w.log.Info("stopping: no more turns are claimed", "running", len(w.places), "grace", w.cfg.Grace)
	grace := time.NewTimer(w.cfg.Grace)
	defer grace.Stop()
	select {
	case <-over:
	case <-grace.C:
		w.log.Warn("turns are stopped: the time for them to end by themselves is over", "after", w.cfg.Grace)
	case <-w.hurry:
	}
	w.end(agent.ErrDraining)
	late := time.NewTimer(linger)
	defer late.Stop()
	select {
	case <-over:
	case <-late.C:
	case <-w.hurried(over):
	}
	w.stopAll() // what has no end yet gets one from a janitor
	<-over
	return w.agentsGone()
}

// hurriedFor is how long ending the turns may take for somebody who is in a hurry, and then
// their agents.
const hurriedFor = 2 * time.Second

// hurried is closed a moment after Hurry, or when there is nothing to hurry any more.
func (w *Worker) hurried(over <-chan struct{}) <-chan struct{} {
	done := make(chan struct{})
	go func() { // ends with over, or soon after Hurry
		defer close(done)
		select {
		case <-over:
			return
		case <-w.hurry:
		}
		late := time.NewTimer(hurriedFor)
		defer late.Stop()
		select {
		case <-over:
		case <-late.C:
		}
	}()
	return done
}

// agentsGone waits for the agents to return, for a while; a moment is theirs in any hurry.
func (w *Worker) agentsGone() error {
	returned := make(chan struct{})
	go func() { // ends with the last agent
		w.agents.Wait()
		close(returned)
	}()
	late := time.NewTimer(linger)
	defer late.Stop()
	select {
	case <-returned:
		return nil
	case <-w.hurry:
		late.Reset(hurriedFor)
	case <-late.C:
		return ErrAgentRunning
	}
	select {
	case <-returned:
		return nil
	case <-late.C:
		return ErrAgentRunning
	}
}
