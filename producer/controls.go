package producer

import (
	"context"
	"slices"

	"github.com/rejoin/rejoin/internal/runs"
)

// Control is what was sent to a run: a stop, the answer to a question, or a message
// for the running turn.
type Control = runs.Control

// The kinds of control that a run is given.
const (
	ControlStop   = runs.ControlStop
	ControlAnswer = runs.ControlAnswer
	ControlInput  = runs.ControlInput
)

// ClosedByRun is the reason of a question that its own run has closed: it says itself that
// it is over, or there was no room for it. Whoever ends a run gives the reason of that.
const ClosedByRun = "closed by the run"

// maxControls is how many controls of a run wait for its writer; more than a person
// sends. What is beyond stays stored and is not given out.
const maxControls = 1024

// Stopping is closed when somebody has asked for the run to be stopped, also when that
// was before this process took it. The run takes events all the same: it is up to
// its writer to finish it, with reason stopped.
func (r *Run) Stopping() <-chan struct{} { return r.stopping }

// NextControl waits for the next control of the run, in the order in which they are
// stored, and gives each once; those from before this process took the run too. The error is that
// of Publish once the run takes no events any more, or ctx's.
func (r *Run) NextControl(ctx context.Context) (Control, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.await(ctx, func() bool { return len(r.controls) > 0 || r.closing }); err != nil {
		return Control{}, err
	}
	if len(r.controls) == 0 {
		return Control{}, r.refusal()
	}
	c := r.controls[0]
	r.controls = r.controls[1:]
	return c, nil
}

// listen takes in what is sent to the run, until the run is over for this process.
func (r *Run) listen() {
	err := r.p.store.WatchControls(r.ctx, r.id, 0, func(c Control) { r.control(r.ctx, c) })
	if err != nil && r.ctx.Err() == nil {
		r.p.log.Error("the run cannot be stopped, answered or steered", "run", r.id, "error", err)
	}
}

func (r *Run) control(ctx context.Context, c Control) {
	if c.Kind == runs.ControlEnded {
		_ = r.Check(ctx) // it ends the run here, if that is true
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.Kind == ControlStop && !r.stopped {
		r.stopped = true
		close(r.stopping)
	}
	if len(r.controls) >= maxControls {
		r.p.log.Warn("a control is not given out: too many wait", "run", r.id, "kind", c.Kind)
		return
	}
	r.controls = append(r.controls, c)
	r.changed.wake()
}

// CloseQuestion closes a question of the run that will have no answer, unless it has
// one: whoever comes first wins. It returns what decided. reason is for people.
func (r *Run) CloseQuestion(ctx context.Context, requestID, reason string) (Control, error) {
	return r.p.store.CloseQuestion(ctx, r.id, requestID, reason)
}

// Inputs lists the messages that have been sent to the run so far, in order.
func (r *Run) Inputs(ctx context.Context) ([]Control, error) {
	all, err := r.p.store.Controls(ctx, r.id, 0)
	return slices.DeleteFunc(all, func(c Control) bool { return c.Kind != ControlInput || c.Closed }), err
}

// CloseInputs makes sure that no further message for the run is accepted. after is the
// number of the last one that the caller knows; those that came meanwhile are
// returned.
func (r *Run) CloseInputs(ctx context.Context, after int) (missed []Control, err error) {
	return r.p.store.CloseInputs(ctx, r.id, after)
}
