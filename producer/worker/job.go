package worker

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/internal/tracing"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/producer/agent"
)

// job is one turn that is being answered. It is what its agent sees as an agent.Turn.
type job struct {
	w     *Worker
	run   *producer.Run
	turn  *turns.Turn
	req   agent.Request
	span  tracing.Span
	log   *slog.Logger
	began time.Time

	steering chan json.RawMessage // nil where the agent takes none

	mu        sync.Mutex // held while an event is published: the order of events is that of calls
	open      agui.Open
	asked     int                      // questions so far
	questions map[string]*question     // those that are open, by id
	sealed    bool                     // nothing is published any more
	inputs    int                      // number of the newest message for the turn; all before it came too
	ahead     map[int]producer.Control // messages that came before the one before them
	late      []json.RawMessage        // messages that this turn does not answer
}

func newJob(w *Worker, run *producer.Run, t *turns.Turn, span tracing.Span) *job {
	j := &job{w: w, run: run, turn: t, span: span, began: time.Now(), questions: map[string]*question{}, ahead: map[int]producer.Control{},
		log: w.log.With("run", run.ID(), "turn", t.TurnID),
		req: agent.Request{Realm: t.Realm, ChatID: t.ChatID, Owner: t.Owner, TurnID: t.TurnID, RunID: run.ID(),
			Kind: t.Kind, Input: t.Input, Header: t.Header, SentAt: t.SentAt}}
	if id := tracing.ID(j.within(context.Background())); id != "" {
		j.log = j.log.With("trace_id", id)
	}
	if w.steerable {
		j.steering = make(chan json.RawMessage, maxSteering)
	}
	return j
}

// maxSteering is how many messages wait for an agent; the run takes no more in all.
const maxSteering = 256

// Request implements agent.Turn.
func (j *job) Request() *agent.Request { return &j.req }

// Steering implements agent.Turn.
func (j *job) Steering() <-chan json.RawMessage { return j.steering }

// answer runs the agent and ends the run.
func (j *job) answer() {
	defer j.span.End()
	if f := j.w.cfg.Metrics.Running; f != nil {
		f(1)
		defer f(-1)
	}
	defer j.run.Close() // does nothing to a run that is over
	listening, stop := context.WithCancel(j.w.life)
	var listen sync.WaitGroup
	defer listen.Wait()
	defer stop()
	j.takeEarly(listening)
	listen.Go(func() { j.listen(listening) })

	how, err := j.runAgent()
	if how == returned && err != nil && !errors.Is(err, errPanicked) { // which was counted when it happened
		j.w.cfg.Metrics.failed(FailedError)
	}
	if how == lost {
		j.abort()
		return
	}
	j.finish(j.within(j.w.hard), j.seal(how, err))
}

// ending says how the agent came to its end.
type ending int

const (
	returned ending = iota // by itself
	stopped                // somebody asked for it
	drained                // the worker shuts down
	lost                   // the run is not this worker's any more
)

// runAgent runs the agent until it returns or its time is over, and says which.
func (j *job) runAgent() (ending, error) {
	ctx, cancel := context.WithCancelCause(j.within(context.WithoutCancel(j.w.life)))
	result := make(chan error, 1)
	j.w.agents.Go(func() {
		result <- j.call(ctx)
		cancel(nil)
	})
	how, cause := stopped, agent.ErrStopped
	select {
	case err := <-result:
		<-j.w.places
		if err != nil && j.run.Err() != nil { // there is no failing in a run that is over
			return lost, err
		}
		return returned, err
	case <-j.run.Stopping():
	case <-j.run.Done():
		how, cause = lost, agent.ErrSuperseded
	case <-j.w.life.Done():
		how, cause = drained, agent.ErrDraining
	}
	cancel(cause)
	j.cancelQuestions(cause)
	patience := time.NewTimer(j.w.cfg.StopPatience)
	defer patience.Stop()
	var err error
	select {
	case err = <-result:
		<-j.w.places
	case <-patience.C:
		j.log.Warn("the agent does not stop; its turn ends without it", "why", cause)
		j.w.cfg.Metrics.failed(FailedStuck)
		j.w.agents.Go(func() { j.leave(result) })
		err = cause
	}
	return how, err
}

// leave frees the place of an agent that did not stop in time.
func (j *job) leave(result <-chan error) {
	late := time.NewTimer(linger)
	defer late.Stop()
	select {
	case err := <-result:
		j.log.Debug("the agent has returned at last", "error", err)
	case <-late.C:
		j.log.Error("the agent has not returned long after it was told to stop; its place is given away")
	}
	<-j.w.places
}

// errPanicked is what people are told of a panic; the log has the rest.
var errPanicked = errors.New("the agent failed unexpectedly")

// call runs the agent and makes a panic an error.
func (j *job) call(ctx context.Context) (err error) {
	ctx, span := tracing.Child(ctx, "agent", tracing.Internal)
	defer span.End()
	defer func() {
		if err != nil && ctx.Err() == nil { // being stopped is no failure
			span.Fail("the agent returned an error")
		}
	}()
	defer func() {
		if v := recover(); v != nil {
			j.log.Error("an agent panicked", "panic", v, "stack", string(debug.Stack()))
			j.w.cfg.Metrics.failed(FailedPanic)
			err = errPanicked
		}
	}()
	return j.w.cfg.Agent.Run(ctx, j)
}

// abort lets go of a run that somebody else has ended or taken.
func (j *job) abort() {
	j.span.Text("rejoin.reason", "lost")
	j.mu.Lock()
	j.sealed = true
	j.mu.Unlock()
	j.dropQuestions(agent.ErrSuperseded)
	j.log.Info("the turn's run was ended by somebody else", "why", j.run.Err())
	if f := j.w.cfg.Metrics.Lost; f != nil {
		f()
	}
}
