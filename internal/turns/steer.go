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
	// A run that was not looked at is never replaced: it may have been given messages that
	// nobody has answered yet.
	r.OnActive = runs.Reject
	if err := r.check(q.cfg.MaxInput); err != nil {
		return Sent{}, err
	}
	for {
		p, err := q.store.Pointer(ctx, r.Realm, r.ChatID)
		if err != nil {
			return Sent{}, err
		}
		if id, ok := p.Started(r.ClientToken); ok {
			return q.repeated(ctx, &r, id)
		}
		sent, err := q.steerTo(ctx, p.RunID, &r)
		if !errors.Is(err, errTakesNoMore) {
			return sent, err
		}
		if r.replace = p.RunID; r.Kind == KindHeartbeat {
			r.replace = ""
		}
		sent, err = q.Send(ctx, r)
		var other *runs.AlreadyStreamingError
		if !errors.As(err, &other) || r.Kind == KindHeartbeat || ctx.Err() != nil {
			return sent, err
		}
	}
}

// steerTo gives a message to a run; errTakesNoMore where that takes none, or is none.
func (q *Queue) steerTo(ctx context.Context, id subjects.RunID, r *SendRequest) (Sent, error) {
	if id == "" {
		return Sent{}, errTakesNoMore
	}
	e, err := q.store.Entry(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound):
		return Sent{}, errTakesNoMore
	case err != nil:
		return Sent{}, err
	case takesInput(e) && len(r.Input) <= q.store.MaxControlBody():
		return q.give(ctx, e, r)
	case r.ClientToken != "":
		return q.given(ctx, e, r)
	}
	return Sent{}, errTakesNoMore
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

// give stores a message in the first place for one that is free. What a replica shows
// is passed over at once, and what that does not show yet place by place.
func (q *Queue) give(ctx context.Context, e *runs.Entry, r *SendRequest) (Sent, error) {
	shown, err := q.store.Controls(ctx, e.RunID, 0)
	if err != nil {
		return Sent{}, err
	}
	sent := Sent{ChatID: r.ChatID, TurnID: e.TurnID, RunID: e.RunID, Steered: true}
	n, total := 1, 0
	for _, c := range shown {
		if c.Kind != runs.ControlInput {
			continue
		}
		if over, err := taken(&c, r, &sent); over {
			return sent, err
		}
		n, total = max(n, c.Input()+1), total+len(c.Body)
	}
	for ; n <= maxInputs; n++ {
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
		}
		if over, err := taken(&c, r, &sent); over {
			return sent, err
		}
		total += len(c.Body)
	}
	return Sent{}, fmt.Errorf("%w: the run has been given %d messages", ErrQueueFull, maxInputs)
}

// taken looks at what has a place: over says that it decides, being this very message or
// the last place there is.
func taken(c *runs.Control, r *SendRequest, sent *Sent) (over bool, err error) {
	switch {
	case c.Closed:
		return true, errTakesNoMore
	case r.ClientToken != "" && c.Token == r.ClientToken:
		sent.Repeated = true
		return true, nil
	}
	return false, nil
}
