package consumer

import (
	"context"
	"errors"
	"fmt"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// SnapshotData is a snapshot and what was known of the run when it was given out. Its
// events are shared and not to be changed.
type SnapshotData struct {
	Seq    uint64        // the last event folded in
	Events NDJSON        // the events
	End    *subjects.End // nil while the run is active

	resume uint64        // stream sequence to replay on from
	held   *heldSnapshot // nil while it is being built
}

// snapshotTries is how often a snapshot is begun anew when log and segments do not
// meet: a checkpoint came between the two reads, or a replica lags.
const snapshotTries = 4

// Snapshot gives the snapshot of a run up to its head, shared with whoever needs it at
// the same time. Its bytes count as held until Release, which has to be called. The
// error is ErrGone for a run that was evicted, ErrBrokerUnavailable when the broker
// shows less than it has, and ctx's when it had to wait too long for its turn.
func (h *Hub) Snapshot(ctx context.Context, e *runs.Entry) (*SnapshotData, error) {
	t := newTail(e.RunID)
	if _, _, err := h.look(ctx, t); err != nil {
		return nil, err
	}
	data, err := h.snapshot(ctx, e, t.kept(), 0, true)
	if err != nil {
		return nil, err
	}
	if t.departed(data.Seq) {
		data.Release()
		return nil, ErrGone
	}
	_, data.End = t.head()
	return data, nil
}

// Head reads how far a run has come, and its end where it has one, at the leader. It
// returns ErrGone and ErrBrokerUnavailable. Of a run whose log is lost it tells what
// the entry says.
func (h *Hub) Head(ctx context.Context, e *runs.Entry) (seq uint64, end *subjects.End, err error) {
	return h.look(ctx, newTail(e.RunID))
}

// look is refresh for a tail of the caller's own.
func (h *Hub) look(ctx context.Context, t *tail) (seq uint64, end *subjects.End, err error) {
	if err := h.refresh(ctx, t); err != nil {
		return 0, nil, fmt.Errorf("%w: %w", ErrBrokerUnavailable, err)
	}
	seq, end = t.head()
	if t.departed(seq) {
		return 0, nil, ErrGone
	}
	return seq, end, nil
}

// What a build takes at first: a page of the log, and for each segment as much as
// segments usually hold. More is added as it turns out, without waiting.
const (
	buildRoom   = 2 << 20
	segmentRoom = 256 << 10
)

// build makes a snapshot that reaches at least to head. How many are built at once
// is bounded, and so is what they take: a herd of new observers costs a bounded amount
// of memory. What the snapshot takes in the end is left in the share.
func (h *Hub) build(ctx context.Context, e *runs.Entry, head uint64, room *share) (SnapshotData, error) {
	if err := h.snapshots.Acquire(ctx, 1); err != nil {
		return SnapshotData{}, err
	}
	defer h.snapshots.Release(1)
	if err := room.wait(ctx, buildRoom+int64(e.Segments)*segmentRoom); err != nil {
		return SnapshotData{}, err
	}
	var data SnapshotData
	for try := range snapshotTries {
		var err error
		data, err = h.buildOnce(ctx, e, head, room)
		if err == nil && data.Seq >= head {
			room.set(int64(data.Events.Len()))
			return data, nil
		}
		if err != nil && !errors.Is(err, errWindow) {
			return SnapshotData{}, err
		}
		if err := pause(ctx, try); err != nil {
			return SnapshotData{}, err
		}
		now, err := h.store.Entry(ctx, e.RunID)
		if errors.Is(err, runs.ErrNotFound) {
			return SnapshotData{}, ErrGone
		}
		if err != nil {
			return SnapshotData{}, fmt.Errorf("%w: %w", ErrBrokerUnavailable, err)
		}
		e = now
	}
	return SnapshotData{}, fmt.Errorf("%w: run %s is at %d and the broker shows %d", ErrBrokerUnavailable, e.RunID, head, data.Seq)
}

// buildOnce joins the segments, then folds what follows the last of them. It ends at head
// or behind it, unless the broker shows less.
func (h *Hub) buildOnce(ctx context.Context, e *runs.Entry, head uint64, room *share) (SnapshotData, error) {
	b := builder{hub: h, entry: e, head: head, room: room, taken: buildRoom, data: SnapshotData{resume: e.FirstStreamSeq}}
	h.mu.Lock()
	if o := h.tails[e.RunID]; o != nil {
		b.tail = o.tail
	}
	h.mu.Unlock()
	log, stop := b.readAhead(ctx)
	defer stop()
	if err := b.segments(ctx); err != nil {
		return b.data, err
	}
	if err := b.rest(ctx, log); err != nil {
		return b.data, err
	}
	if b.fold.Count() > 0 {
		b.data.Events = append(b.data.Events, b.fold.Cut())
	}
	return b.data, nil
}

// logLost asks the leader whether the run's log is gone, and not only out of reach.
func (h *Hub) logLost(ctx context.Context, e *runs.Entry) bool {
	_, err := h.store.Last(ctx, e.RunID)
	return errors.Is(err, runs.ErrLogLost) || errors.Is(err, runs.ErrNotFound)
}
