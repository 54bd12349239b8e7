package producer

import (
	"context"

	"github.com/rejoin/rejoin/internal/agui"
)

// Publish takes one event, gives it the run's next number and returns that, before
// the event is stored; see Flush. It keeps nothing of event. While the run's buffer
// is full it waits. It never changes the event, save for line breaks between tokens.
//
// The error is an *EventError when the event is refused, and the run goes on. It is
// ErrFenced, *EndedError, ErrLogLost or ErrClosed when the run takes no events any
// more, and then those not yet stored are lost. It is ctx's when the buffer stayed full.
func (r *Run) Publish(ctx context.Context, event []byte) (seq uint64, err error) {
	seq, _, err = r.publish(ctx, event, 0)
	return seq, err
}

// PublishAt is Publish for exact repetitions: the event is the run's seq-th, counted
// from 1. Where the run has that number already nothing happens and fresh is
// false; a number beyond the next one is a *GapError.
func (r *Run) PublishAt(ctx context.Context, seq uint64, event []byte) (fresh bool, err error) {
	if seq == 0 {
		return false, &GapError{Expected: r.LastSeq() + 1}
	}
	_, fresh, err = r.publish(ctx, event, seq)
	return fresh, err
}

func (r *Run) publish(ctx context.Context, event []byte, at uint64) (seq uint64, fresh bool, err error) {
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	if at > 0 && at <= r.LastSeq() {
		return at, false, r.Err()
	}
	var e agui.Event
	if err := r.p.check(event, &e); err != nil {
		return 0, false, err
	}
	size := len(e.Raw)
	a, asks := asksOf(&e)
	r.mu.Lock()
	for {
		if err := r.refusal(); err != nil {
			r.mu.Unlock()
			return 0, false, err
		}
		if at > 0 && at != r.assigned+1 {
			next := r.assigned + 1
			r.mu.Unlock()
			if at < next {
				return at, false, nil
			}
			return 0, false, &GapError{Expected: next}
		}
		if r.queue.room(size, r.p.cfg.MaxPendingEvents, r.p.cfg.MaxPendingBytes) {
			break
		}
		changed := r.changed.wait()
		r.mu.Unlock()
		select {
		case <-ctx.Done():
			return 0, false, ctx.Err()
		case <-changed:
		}
		r.mu.Lock()
	}
	r.assigned++
	seq = r.assigned
	r.queue.push(e.Raw, seq)
	r.terminal = agui.IsTerminal(e.Type)
	if asks {
		r.asks(a, seq)
	}
	r.nudge()
	r.mu.Unlock()
	if f := r.p.cfg.Metrics.Published; f != nil {
		f(size)
	}
	return seq, true, nil
}

// nudge wakes the writer if it waits. The caller holds mu.
func (r *Run) nudge() {
	if r.idle {
		r.idle = false
		select {
		case r.wake <- struct{}{}:
		default:
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
