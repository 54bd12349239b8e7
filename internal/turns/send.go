package turns

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nuid"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// Sent says what became of a message.
type Sent struct {
	ChatID string
	TurnID string
	RunID  subjects.RunID // the run that will answer
	// Behind says that another run of the chat is active: it can be watched by its id
	// alone until its time comes.
	Behind bool
	// Repeated says that the client token had this run made before.
	Repeated bool
	// Steered says that the run was there, and takes the message while it answers.
	Steered bool
}

// Send makes a turn of a message. When it returns, the turn is stored for good and its
// run can be watched, stopped and steered.
//
// The error is ErrOptions, *runs.AlreadyStreamingError, ErrQueueFull, or what kept the
// broker from answering; then it is repeated best with a client token.
func (q *Queue) Send(ctx context.Context, r SendRequest) (Sent, error) {
	if err := r.check(q.cfg.MaxInput); err != nil {
		return Sent{}, err
	}
	t := Turn{TurnID: nuid.Next(), Realm: r.Realm, ChatID: r.ChatID, Owner: r.Owner, Kind: r.Kind,
		Input: r.Input, Header: r.Header, SentAt: time.Now().UTC(), Trace: r.Trace}
	started, err := q.store.StartRun(ctx, runs.StartRequest{
		Entry: runs.Entry{Realm: r.Realm, ChatID: r.ChatID, Owner: r.Owner, Kind: r.Kind,
			TurnID: t.TurnID, State: runs.StateQueued, Trace: r.Trace},
		OnActive: r.OnActive, Replace: r.replace, ClientToken: r.ClientToken,
		Prepare: func(ctx context.Context, id subjects.RunID) error {
			t.RunID = id
			body, err := t.encode()
			if err != nil {
				return err
			}
			return q.store.PutTurn(ctx, id, body)
		}})
	var before *runs.AlreadyStartedError
	switch {
	case errors.As(err, &before):
		return q.repeated(ctx, &r, before.RunID)
	case err != nil:
		return Sent{}, err
	}
	if !started.Behind {
		q.enqueue(ctx, started.Entry)
	}
	attrs := []any{"run", started.RunID, "turn", t.TurnID, "behind", started.Behind}
	if id := r.Trace.TraceID(); id != "" {
		attrs = append(attrs, "trace_id", id)
	}
	q.log.Info("turn sent", attrs...)
	return Sent{ChatID: r.ChatID, TurnID: t.TurnID, RunID: started.RunID, Behind: started.Behind}, nil
}

// enqueue puts a turn into the work queue. Where it cannot, a janitor does: the turn
// is stored, and the chat's pointer names its run.
func (q *Queue) enqueue(ctx context.Context, e *runs.Entry) {
	if err := q.store.Enqueue(ctx, e); err != nil {
		q.log.Warn("a turn is not in the queue yet; a janitor sees to it", "run", e.RunID, "error", err)
	}
}

// repeated answers a send that was made before with what it made then, and does
// again what may have been left undone.
func (q *Queue) repeated(ctx context.Context, r *SendRequest, id subjects.RunID) (Sent, error) {
	sent := Sent{ChatID: r.ChatID, RunID: id, Repeated: true}
	e, err := q.store.Entry(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return sent, nil // it has ended and left
	}
	if err != nil {
		return Sent{}, err
	}
	sent.TurnID = e.TurnID
	if e.State != runs.StateQueued {
		return sent, nil
	}
	p, err := q.store.Pointer(ctx, r.Realm, r.ChatID)
	if err != nil {
		return Sent{}, err
	}
	if p.RunID == id {
		q.enqueue(ctx, e)
	}
	sent.Behind = slices.Contains(p.Queue, id)
	return sent, nil
}
