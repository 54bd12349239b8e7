package consumer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rejoin/rejoin/internal/runs"
)

// fallBehind gives up on single events: a snapshot comes next.
func (r *Reader) fallBehind(cause string) {
	if cause == "gap" && r.hub.cfg.Metrics.Gap != nil {
		r.hub.cfg.Metrics.Gap()
	}
	r.cause = cause
	r.endReplay()
}

// endReplay lets go of the log and of what it takes.
func (r *Reader) endReplay() {
	if r.log != nil && r.obs != nil {
		r.obs.tail.seed(r.log.read.blocks)
	}
	r.log = nil
	r.paged.end()
	r.room.set(0)
}

// stuckTries is how often a reader asks again when the broker shows less than is
// known to be stored, before it turns to a snapshot.
const stuckTries = 3

// guessWorth is how many events have to lie between a known record and the one that is
// wanted for a guess at its place to be worth it: a record takes the broker some 8 µs.
const guessWorth = 32

// guess is where in the stream the event after seq might be, or a little before, from a
// record before it and one behind it: most runs are written at a steady pace. It is 0
// where there is nothing to gain.
func guess(before runs.Mark, seq uint64, behind *standing) uint64 {
	if behind.stream <= before.StreamSeq || seq < before.Seq+guessWorth {
		return 0
	}
	span, left := float64(behind.stream-before.StreamSeq), float64(behind.behind)
	left *= span / (left + float64(seq-before.Seq))
	back := uint64(left*1.25) + 1
	if back >= behind.stream-before.StreamSeq {
		return 0
	}
	return behind.stream - back
}

// catchUp reads the next block from the log, where the tail stands like this.
func (r *Reader) catchUp(ctx context.Context, st *standing) error {
	if r.log == nil {
		r.asks()
		if r.from.StreamSeq == 0 {
			e, err := r.hub.store.Entry(ctx, r.id)
			if errors.Is(err, runs.ErrNotFound) {
				return ErrGone
			}
			if err != nil {
				return fmt.Errorf("%w: %w", ErrBrokerUnavailable, err)
			}
			r.from = e.ReplayFrom(r.seq)
		}
		r.log = &replay{hub: r.hub, id: r.id, from: r.from.StreamSeq, room: &r.room, hold: &r.paged, asks: r.asks}
		if from := guess(r.from, r.seq, st); from > 0 && r.stuck == 0 {
			r.log.from, r.log.sure = from, r.from.StreamSeq
		}
		r.from = runs.Mark{}
	}
	b, ok, err := r.log.next(ctx, r.seq)
	switch {
	case errors.Is(err, runs.ErrLogLost): // refresh finds out whether it is
	case errors.Is(err, errWindow):
		cause := "gap"
		if !r.attached.IsZero() {
			cause = "window"
		}
		r.fallBehind(cause)
		return nil
	case err != nil:
		return err
	case ok:
		r.stuck = 0
		r.take(b)
		return nil
	}
	r.endReplay()
	r.asks()
	if r.stuck++; r.stuck > stuckTries {
		r.stuck = 0
		r.fallBehind("gap")
	}
	if err := pause(ctx, r.stuck); err != nil {
		return err
	}
	if err := r.hub.refresh(ctx, r.obs.tail); err != nil {
		return fmt.Errorf("%w: %w", ErrBrokerUnavailable, err)
	}
	return nil
}

// pause waits a little longer after each try, for a replica to catch up.
func pause(ctx context.Context, try int) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(10 * time.Millisecond << min(try, 6)):
		return nil
	}
}

// snapshot builds the frame that replaces whatever the observer holds. ok is false
// when it would only take events away: the log is lost, and the segments hold no more
// than the observer has.
func (r *Reader) snapshot(ctx context.Context) (f Frame, ok bool, err error) {
	r.endReplay() // who waits for room holds none
	r.asks()
	data, err := r.hub.snapshot(ctx, r.entry, r.obs.tail.kept(), r.seq, false)
	if err != nil {
		return Frame{}, false, err
	}
	r.given.Store(data) // until the next Poll, or Close
	if r.obs.tail.departed(data.Seq) {
		return Frame{}, false, ErrGone
	}
	cause := r.cause
	r.cause, r.stuck = "", 0
	if r.placed && data.Seq <= r.seq {
		return Frame{}, false, nil
	}
	if r.hub.cfg.Metrics.Snapshot != nil {
		r.hub.cfg.Metrics.Snapshot(cause)
	}
	r.seq, r.from, r.placed = data.Seq, runs.Mark{Seq: data.Seq, StreamSeq: data.resume}, true
	return Frame{Type: Snapshot, RunID: r.id, Seq: data.Seq, Parts: data.Events}, true, nil
}
