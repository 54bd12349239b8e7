package producer

import (
	"bytes"
	"context"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/subjects"
)

// Publish takes one event, gives it the run's next number and returns that, before
// the event is stored; see Flush. It keeps nothing of event. While the run's buffer
// is full it waits. It never changes the event, save for line breaks between tokens.
//
// The error is an *EventError when the event is refused, and the run goes on. It is
// ErrFenced, *EndedError, ErrLogLost or ErrClosed when the run takes no events any
// more, and then those not yet stored are lost. It is ctx's when the buffer stayed full.
func (r *Run) Publish(ctx context.Context, event []byte) (seq uint64, err error) {
	defer r.send()
	var e agui.Event
	seq, _, err = r.publish(ctx, &e, event, 0)
	return seq, err
}

// PublishAt is Publish for exact repetitions: the event is the run's seq-th, counted
// from 1. Where the run has that number already nothing happens and fresh is
// false; a number beyond the next one is a *GapError.
func (r *Run) PublishAt(ctx context.Context, seq uint64, event []byte) (fresh bool, err error) {
	if seq == 0 {
		return false, &GapError{Expected: r.LastSeq() + 1}
	}
	defer r.send()
	var e agui.Event
	_, fresh, err = r.publish(ctx, &e, event, seq)
	return fresh, err
}

// Published says what became of the events given to PublishAll.
type Published struct {
	Taken int    // how many there is nothing more to do about, the first ones
	Fresh int    // how many of these the run did not have before
	First uint64 // the number of the first fresh one, 0 where there is none
}

// PublishAll is Publish for events that are at hand together, so that they are stored
// together too. at is the number of the first of them, as PublishAt has it, or 0 for the
// run's next. The error is about the event behind those that were taken.
func (r *Run) PublishAll(ctx context.Context, at uint64, events [][]byte) (p Published, err error) {
	defer r.send()
	var e agui.Event
	for _, event := range events {
		seq, fresh, err := r.publish(ctx, &e, event, at)
		if err != nil {
			return p, err
		}
		p.Taken++
		if fresh {
			p.Fresh++
		}
		if fresh && p.First == 0 {
			p.First = seq
		}
		if at > 0 {
			at++
		}
	}
	return p, nil
}

// publish takes one event, which it describes in e. The caller sends it then, by send.
func (r *Run) publish(ctx context.Context, e *agui.Event, event []byte, at uint64) (seq uint64, fresh bool, err error) {
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	if at > 0 && at <= r.LastSeq() {
		return at, false, r.Err()
	}
	if err := r.p.check(event, e); err != nil {
		return 0, false, err
	}
	a, asks := asksOf(e)
	raw := e.Raw
	if len(raw) > subjects.MaxRecordBytes {
		raw = bytes.Clone(raw) // here, since whoever hears of acknowledgements waits for mu
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if fresh, err := r.admit(ctx, at, len(e.Raw)); err != nil || !fresh {
		return at, false, err
	}
	r.assigned++
	r.queue.push(raw, r.marker.Mark(e), r.assigned)
	r.terminal = agui.IsTerminal(e.Type)
	if asks {
		r.asks(a, r.assigned)
	}
	if f := r.p.cfg.Metrics.Published; f != nil {
		f(len(e.Raw))
	}
	return r.assigned, true, nil
}

// admit waits until there is room for an event of the given size, whose number is at or, where
// that is 0, the next. It is not fresh when the run has it already. The caller holds mu, which
// is let go meanwhile.
func (r *Run) admit(ctx context.Context, at uint64, size int) (fresh bool, err error) {
	for {
		if err := r.refusal(); err != nil {
			return false, err
		}
		switch next := r.assigned + 1; {
		case at > 0 && at < next:
			return false, nil
		case at > next:
			return false, &GapError{Expected: next}
		case r.queue.room(size, r.p.cfg.MaxPendingEvents, r.p.cfg.MaxPendingBytes):
			return true, nil
		}
		r.advance()
		changed := r.changed.wait()
		r.mu.Unlock()
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-changed:
		}
		r.mu.Lock()
		if err != nil {
			return false, err
		}
	}
}

// Flush waits until everything published before is stored, and returns the number of
// the newest event that is. The error is that of Publish, or ctx's.
func (r *Run) Flush(ctx context.Context) (uint64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	goal := r.assigned
	err := r.await(ctx, func() bool { return r.acked >= goal })
	return r.acked, err
}

// await waits for a condition that the run's own progress makes true. The caller
// holds mu, which is let go meanwhile.
func (r *Run) await(ctx context.Context, met func() bool) error {
	for !met() {
		if r.err != nil {
			return r.err
		}
		changed := r.changed.wait()
		r.mu.Unlock()
		var err error
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-changed:
		}
		r.mu.Lock()
		if err != nil {
			return err
		}
	}
	return nil
}
