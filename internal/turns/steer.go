package turns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// maxInputs is how many messages a run may be given while it answers.
const maxInputs = 256

// Steer brings a message to the chat's active run where that takes one: its agent does,
// or it has not begun. Any other active run is replaced by a turn of the message's
// own, and where none is active it is a turn like any other. OnActive is not looked at. Errors as of Send.
func (q *Queue) Steer(ctx context.Context, r SendRequest) (Sent, error) {
	if r.Kind == "" {
		r.Kind = KindSteer
	}
	r.OnActive = runs.Supersede
	if r.Kind == KindHeartbeat {
		r.OnActive = runs.Reject
	}
	if err := r.check(q.cfg.MaxInput); err != nil {
		return Sent{}, err
	}
	p, err := q.store.Pointer(ctx, r.Tenant, r.ChatID)
	if err != nil {
		return Sent{}, err
	}
	if id, ok := p.Started(r.ClientToken); ok {
		return q.repeated(ctx, &r, id)
	}
	if p.RunID == "" {
		return q.Send(ctx, r)
	}
	e, err := q.store.Entry(ctx, p.RunID)
	switch {
	case err != nil && !errors.Is(err, ErrNotFound):
		return Sent{}, err
	case err != nil:
		return q.Send(ctx, r)
	}
	err = errTakesNoMore
	var sent Sent
	if takesInput(e) && len(r.Input) <= q.store.MaxControlBody() {
		sent, err = q.give(ctx, e, &r)
	} else if r.ClientToken != "" {
		sent, err = q.given(ctx, e, &r)
	}
	if errors.Is(err, errTakesNoMore) {
		return q.Send(ctx, r)
	}
	return sent, err
}

// given finds a message that the run was given before; errTakesNoMore where it was not.
func (q *Queue) given(ctx context.Context, e *runs.Entry, r *SendRequest) (Sent, error) {
	all, err := q.store.Controls(ctx, e.RunID, 0)
	for _, c := range all {
		if c.Kind == runs.ControlInput && c.Token == r.ClientToken {
			return Sent{ChatID: r.ChatID, TurnID: e.TurnID, RunID: e.RunID, Steered: true, Repeated: true}, nil
		}
	}
	return Sent{}, cmp.Or(err, errTakesNoMore)
}

// takesInput says whether a message for the run will be taken. A run that has not begun
// takes it as a part of what it is asked.
func takesInput(e *runs.Entry) bool {
	return e.Active() && (e.State == runs.StateQueued || e.State == runs.StateRunning && e.Steerable)
}

var errTakesNoMore = errors.New("the run takes no more messages")

// maxInputBytes is how much a run may be given while it answers: what is left over when it
// ends has to fit into one input.
func (q *Queue) maxInputBytes() int { return q.cfg.MaxInput / 2 }

// place gives what has the control's place; where the control may not take it, a free one is
// ErrNotFound.
func (q *Queue) place(ctx context.Context, id subjects.RunID, c runs.Control, may bool) (winner runs.Control, won bool, err error) {
	if may {
		return q.store.PutControl(ctx, id, c)
	}
	winner, err = q.store.Control(ctx, id, c.Kind, c.ID)
	return winner, false, err
}

// give stores a message in the first place for one that is free.
func (q *Queue) give(ctx context.Context, e *runs.Entry, r *SendRequest) (Sent, error) {
	sent := Sent{ChatID: r.ChatID, TurnID: e.TurnID, RunID: e.RunID, Steered: true}
	for n, total := 1, 0; n <= maxInputs; n++ {
		c, won, err := q.place(ctx, e.RunID, runs.Control{Kind: runs.ControlInput, ID: strconv.Itoa(n),
			Body: r.Input, Token: r.ClientToken}, total == 0 || total+len(r.Input) <= q.maxInputBytes())
		switch {
		case errors.Is(err, ErrNotFound):
			return Sent{}, fmt.Errorf("%w: the run has been given %d bytes of messages, and may be given %d", ErrQueueFull, total, q.maxInputBytes())
		case err != nil:
			return Sent{}, err
		case won:
			q.log.Info("message given to a run", "run", e.RunID, "input", n)
			return sent, nil
		case c.Closed:
			return Sent{}, errTakesNoMore
		case r.ClientToken != "" && c.Token == r.ClientToken:
			sent.Repeated = true
			return sent, nil
		}
		total += len(c.Body)
	}
	return Sent{}, fmt.Errorf("%w: the run has been given %d messages", ErrQueueFull, maxInputs)
}
