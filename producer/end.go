package producer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// ending is how far a run's end has come.
type ending struct {
	decided bool // end stands
	end     subjects.End
	said    bool // the log holds what closes open questions
	stored  bool // the log holds result
	over    bool // result and err are final, and the run is no longer this process's
	result  EndedError
	err     error
}

// over makes the result final. The caller has the turn.
func (r *Run) over(result EndedError, err error) {
	r.halt()
	r.ending.over, r.ending.result, r.ending.err = true, result, err
	r.p.remove(r)
}

// endAgain is a later attempt at an end that could not be stored.
func (r *Run) endAgain(end subjects.End) {
	select {
	case r.turn <- struct{}{}:
	default:
		return // whoever has the turn tries
	}
	defer r.give()
	if r.ending.over && !r.ending.stored {
		r.p.remove(r)
		return
	}
	ctx, cancel := context.WithTimeout(r.p.ctx, endTimeout)
	defer cancel()
	_, _ = r.conclude(ctx, end) // it has logged what went wrong, and the next renewal tries again
}

// conclude stores the end behind the run's newest record and in its entry, if the run
// is still this writer's. Any error but a definite one leaves it to a later attempt.
// The caller has the turn, and nothing is written any more.
func (r *Run) conclude(ctx context.Context, end subjects.End) (EndedError, error) {
	if r.unwanted {
		if err := r.p.store.Discard(ctx, r.id); err != nil {
			return EndedError{}, err
		}
		r.over(EndedError{}, ErrClosed)
		return EndedError{}, nil
	}
	e := &r.ending
	if !e.stored {
		got, err := r.endRecord(ctx, end)
		switch {
		case definite(err):
			result := EndedError{}
			if ended := (*EndedError)(nil); errors.As(err, &ended) {
				result = *ended
				_, _ = r.p.store.Seal(ctx, r.id, result.End, result.Seq) // a janitor does, else
			}
			r.over(result, err)
			return result, err
		case err != nil:
			r.p.endLater(r, end)
			return EndedError{}, fmt.Errorf("the run's end is not stored yet: %w", err)
		}
		e.stored, e.result = true, got
		r.p.log.Info("run ended", "run", r.id, "seq", got.Seq, "reason", got.End.Reason, "persisted", got.End.Persisted)
		if f := r.p.cfg.Metrics.Ended; f != nil {
			f(got.End)
		}
	}
	if _, err := r.p.store.Seal(ctx, r.id, e.result.End, e.result.Seq); err != nil && !errors.Is(err, ErrNotFound) {
		// The end is stored and readers see it; the entry follows.
		r.p.log.Warn("the run's entry does not say that it ended; trying again", "run", r.id, "error", err)
		e.over = true
		r.p.endLater(r, end)
		return e.result, nil
	}
	r.over(e.result, nil)
	return e.result, nil
}

// endRecord appends the end, by the fence of this writer, and tries until ctx is done.
// What became of a record that was on its way when the writing was stopped shows in
// the log.
func (r *Run) endRecord(ctx context.Context, end subjects.End) (EndedError, error) {
	wait := endRetry
	for try := 1; ; try++ {
		got, err := r.tryEnd(ctx, end, try > endPointerTries)
		if err == nil || definite(err) || errors.Is(err, nats.ErrConnectionClosed) {
			return got, err
		}
		if try == 1 {
			r.p.log.Warn("a run's end is not stored; trying again", "run", r.id, "error", err)
		}
		select {
		case <-ctx.Done():
			return EndedError{}, err
		case <-r.p.store.Reconnected():
		case <-time.After(wait):
		}
		wait = min(2*wait, endMaxRetry)
	}
}

// How long the next attempt at an end waits, and how many attempts insist on knowing
// whether a newer run took the chat.
const (
	endRetry        = 10 * time.Millisecond
	endMaxRetry     = time.Second
	endPointerTries = 3
)

var errBetween = errors.New("a record came in between")

// tryEnd makes one attempt to append the end.
func (r *Run) tryEnd(ctx context.Context, end subjects.End, whatever bool) (EndedError, error) {
	end, err := r.newer(ctx, end)
	if err != nil && !whatever {
		return EndedError{}, err
	}
	last, err := r.p.store.Last(ctx, r.id)
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrLogLost) && errors.Is(r.Err(), ErrLogLost):
		return EndedError{End: end, Seq: r.StoredSeq()}, nil // the entry alone tells of it
	case err != nil:
		return EndedError{}, err
	case last.Writer != r.writer && last.Kind == subjects.KindEnd:
		return EndedError{}, &EndedError{End: *last.End(), Seq: last.Last}
	case last.Writer != r.writer:
		return EndedError{}, fmt.Errorf("%w: writer %.40q", ErrFenced, last.Writer)
	case last.Kind == subjects.KindEnd:
		return EndedError{End: *last.End(), Seq: last.Last}, nil
	}
	if last, err = r.lastWords(ctx, end, last); err != nil {
		return EndedError{}, err
	}
	rec := subjects.EndRecord(end, last.Last, r.writer)
	_, err = r.p.store.Append(ctx, r.id, &rec, last.StreamSeq)
	if errors.Is(err, ErrFenced) && !errors.Is(err, ErrEnded) {
		err = errBetween // a record of ours or of another, the next look tells
	}
	return EndedError{End: end, Seq: last.Last}, err
}

// lastWords closes the questions that the run leaves open. Behind a terminal event that
// is not told, since nothing may follow one; the run's end tells it.
func (r *Run) lastWords(ctx context.Context, end subjects.End, last runs.Stored) (runs.Stored, error) {
	r.mu.Lock()
	open, terminal := maps.Clone(r.open), r.terminal
	r.mu.Unlock()
	if len(open) == 0 || r.ending.said {
		return last, nil
	}
	words, err := r.p.store.LastWords(ctx, r.id, end, func(id string) bool { return open[id] })
	if err == nil && len(words) > 0 && !terminal {
		rec := subjects.Record{Kind: subjects.KindEvents, Last: last.Last + uint64(len(words)), Count: len(words),
			Writer: r.writer, Body: bytes.Join(words, []byte{'\n'})}
		last.StreamSeq, err = r.p.store.Append(ctx, r.id, &rec, last.StreamSeq)
		last.Record = rec
		if errors.Is(err, ErrFenced) && !errors.Is(err, ErrEnded) {
			err = errBetween
		}
	}
	r.ending.said = err == nil
	return last, err
}

// endLater has the run's end stored by a later attempt: at every renewal of the
// lease until it is, or until the process ends and a janitor does it.
func (p *Producer) endLater(r *Run, end subjects.End) {
	p.mu.Lock()
	p.runs[r] = struct{}{}
	p.later[r] = end
	p.mu.Unlock()
}

func (p *Producer) poke() {
	select {
	case p.tick <- struct{}{}:
	default:
	}
}

// endTimeout bounds one attempt to store an end.
const endTimeout = 5 * time.Second

func (p *Producer) endLate() {
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-p.tick:
		}
		p.mu.Lock()
		waiting := maps.Clone(p.later)
		p.mu.Unlock()
		for r, end := range waiting {
			r.endAgain(end)
		}
	}
}
