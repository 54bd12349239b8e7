package producer

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/internal/runs"
)

// asking is what one event does to the run's open questions.
type asking struct {
	seq     uint64
	ask     []runs.Question
	resolve string // the id of a question that is closed
}

// asksOf looks whether an event opens or closes questions. It costs nothing for all events
// but CUSTOM and RUN_FINISHED.
func asksOf(e *agui.Event) (a asking, any bool) {
	if q, ok := agui.Asked(e); ok {
		q = q.Small()
		a.ask = []runs.Question{{Name: q.Name, RequestID: q.RequestID, MessageID: q.MessageID, Value: q.Value, Options: q.Options}}
		return a, true
	}
	if id, _, ok := agui.Resolved(e); ok {
		a.resolve = id
		return a, true
	}
	for _, it := range agui.Interrupts(e) {
		a.ask = append(a.ask, runs.Question{Name: runs.InterruptName, RequestID: it.ID, Value: it.Raw, Interrupt: true})
	}
	return a, len(a.ask) > 0
}

// asks takes in what an event does to the run's questions. The caller holds mu.
func (r *Run) asks(a asking, seq uint64) {
	a.seq = seq
	r.asking = append(r.asking, a)
	for _, q := range a.ask {
		if !q.Interrupt {
			r.open[q.RequestID] = true
		}
	}
	delete(r.open, a.resolve)
}

// noteAsked makes ready what the events up to a seq do to the run's questions, before
// anybody can see them: what can be seen can be answered, and what is seen to be closed
// takes no answer any more. It tries until that is done or the run is over; the error is
// that of the run.
func (r *Run) noteAsked(last uint64) error {
	var open []runs.Question
	var closed []string
	r.mu.Lock()
	for _, a := range r.asking {
		if a.seq <= last {
			open = append(open, a.ask...)
			if a.resolve != "" {
				closed = append(closed, a.resolve)
			}
		}
	}
	r.mu.Unlock()
	if len(open) > 0 {
		var refused []string
		err := r.insist("a question is not noted yet; the run waits", func(ctx context.Context) error {
			return r.changeQuestions(ctx, func(e *runs.Entry) {
				refused = nil
				for _, q := range open {
					if !e.Ask(q) {
						refused = append(refused, q.RequestID)
					}
				}
			})
		})
		if err != nil {
			return err
		}
		if len(refused) > 0 {
			r.p.log.Warn("too many open questions; these cannot be answered and are closed", "run", r.id, "requests", refused)
		}
		closed = append(closed, refused...)
	}
	for _, id := range closed {
		err := r.insist("a question is not closed yet; the run waits", func(ctx context.Context) error {
			_, err := r.CloseQuestion(ctx, id, ClosedByRun)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// insist does something until it is done, or until it never will be or the run is over.
func (r *Run) insist(not string, do func(context.Context) error) error {
	wait := checkpointRetry
	for {
		err := do(r.ctx)
		if err == nil || definite(err) || r.ctx.Err() != nil {
			return err
		}
		if errors.Is(err, ErrLogLost) { // no waiting brings it back
			r.p.log.Error(not+", and goes on without: the fabric lacks a stream", "run", r.id, "error", err)
			return nil
		}
		r.p.log.Warn(not, "run", r.id, "error", err)
		select {
		case <-r.ctx.Done():
			return r.ctx.Err()
		case <-time.After(wait):
		}
		wait = min(2*wait, checkpointMaxRetry)
	}
}

// noteResolved takes the questions that stored events have closed out of the run's
// entry. Where it cannot, the next one does, or the run's end: an answer stays what it
// is, whatever the entry says.
func (r *Run) noteResolved(last uint64) {
	r.mu.Lock()
	var closed []string
	for _, a := range r.asking {
		for _, q := range a.ask { // a question may be asked again
			closed = slices.DeleteFunc(closed, func(id string) bool { return id == q.RequestID })
		}
		if a.seq <= last && a.resolve != "" {
			closed = append(closed, a.resolve)
		}
	}
	r.mu.Unlock()
	var err error
	if len(closed) > 0 {
		ctx, cancel := context.WithTimeout(r.ctx, stateTimeout)
		defer cancel()
		err = r.changeQuestions(ctx, func(e *runs.Entry) {
			for _, id := range closed {
				e.Resolve(id)
			}
		})
		if err != nil && !definite(err) {
			r.p.log.Warn("the run's entry still names a question that is closed", "run", r.id, "error", err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := r.asking[:0]
	for _, a := range r.asking {
		if a.seq > last || err != nil && a.resolve != "" {
			kept = append(kept, a)
		}
	}
	r.asking = kept
}

func (r *Run) changeQuestions(ctx context.Context, change func(*runs.Entry)) error {
	_, err := r.p.store.ChangeEntry(ctx, r.id, func(e *runs.Entry) error {
		if err := r.owns(e); err != nil {
			return err
		}
		change(e)
		return nil
	})
	if errors.Is(err, ErrNotFound) {
		return ErrLogLost
	}
	return err
}
