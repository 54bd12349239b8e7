package consumer

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// SnapshotData is a snapshot and what was known of the run when it was given out. Its
// events are shared and not to be changed.
type SnapshotData struct {
	Seq    uint64        // the last event folded in
	Events []byte        // the events, one a line
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
		data, err = h.buildOnce(ctx, e, room)
		if err == nil && data.Seq >= head {
			room.set(int64(len(data.Events)))
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

// buildOnce joins the segments, then folds the records after the last of them.
func (h *Hub) buildOnce(ctx context.Context, e *runs.Entry, room *share) (SnapshotData, error) {
	data := SnapshotData{resume: e.FirstStreamSeq}
	var taken int64 = buildRoom
	count := func(n int) {
		taken += int64(n)
		room.set(max(room.held, taken))
	}
	var parts [][]byte // joined once: growing a large snapshot would copy it again and again
	for seg, err := range h.store.Segments(ctx, e.RunID, e.Segments) {
		if err != nil {
			return data, fmt.Errorf("%w: %w", ErrBrokerUnavailable, err)
		}
		if seg.From != data.Seq+1 {
			return data, fmt.Errorf("%w: segment %d of run %s begins at %d, not at %d",
				ErrBrokerUnavailable, seg.N, e.RunID, seg.From, data.Seq+1)
		}
		if len(seg.Events) > 0 {
			parts = append(parts, seg.Events)
			count(len(seg.Events))
		}
		data.Seq, data.resume = seg.To, seg.StreamSeq // that record may hold more
	}
	var fold agui.Fold
	p := &replay{hub: h, id: e.RunID, from: data.resume}
	for {
		b, ok, err := p.next(ctx, data.Seq)
		if errors.Is(err, ErrBrokerUnavailable) && h.logLost(ctx, e) {
			break // the segments are all there is; nobody answers for a stream that is gone
		}
		if err != nil {
			return data, err
		}
		if !ok {
			break
		}
		count(len(b.body)) // folded, it is no more than that
		if _, err := fold.AddLines(b.after(data.Seq)); err != nil {
			return data, fmt.Errorf("event after %d of run %s: %w", data.Seq, e.RunID, err)
		}
		data.Seq, data.resume = b.last, p.from
	}
	if fold.Count() > 0 {
		parts = append(parts, fold.Cut())
	}
	if len(parts) == 1 {
		data.Events = parts[0]
		return data, nil
	}
	for _, part := range parts {
		count(len(part) + 1) // twice, for a moment
	}
	data.Events = bytes.Join(parts, []byte{'\n'})
	return data, nil
}

// logLost asks the leader whether the run's log is gone, and not only out of reach.
func (h *Hub) logLost(ctx context.Context, e *runs.Entry) bool {
	_, err := h.store.Last(ctx, e.RunID)
	return errors.Is(err, runs.ErrLogLost) || errors.Is(err, runs.ErrNotFound)
}
