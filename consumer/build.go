package consumer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/internal/runs"
)

// builder puts one snapshot together.
type builder struct {
	hub   *Hub
	entry *runs.Entry
	tail  *tail // nil where nobody observes the run
	head  uint64
	room  *share
	taken int64 // of room
	data  SnapshotData
	fold  agui.Fold
}

// count takes room for n more bytes.
func (b *builder) count(n int) {
	b.taken += int64(n)
	b.room.set(max(b.room.held, b.taken))
}

// segments adds the run's segments, those that are at hand and those that the broker has
// behind them.
func (b *builder) segments(ctx context.Context) error {
	id, kept := b.entry.RunID, b.hub.segments.of(b.entry.RunID)
	all := slices.Clip(kept)
	for i := range all {
		b.segment(&all[i])
	}
	if b.enough() || b.tail != nil && b.tail.since(b.data.Seq) != nil {
		return nil // what further segments hold is at hand, too
	}
	for seg, err := range b.hub.store.SegmentsFrom(ctx, id, len(kept), b.entry.Segments) {
		if err != nil {
			return fmt.Errorf("%w: %w", ErrBrokerUnavailable, err)
		}
		if seg.From != b.data.Seq+1 {
			return fmt.Errorf("%w: segment %d of run %s begins at %d, not at %d",
				ErrBrokerUnavailable, seg.N, id, seg.From, b.data.Seq+1)
		}
		b.segment(&seg)
		all = append(all, seg)
	}
	b.hub.segments.keep(id, all)
	return nil
}

func (b *builder) segment(seg *runs.SegmentData) {
	if len(seg.Events) > 0 {
		b.data.Events = append(b.data.Events, seg.Events)
		b.count(len(seg.Events))
	}
	b.data.Seq, b.data.resume = seg.To, seg.StreamSeq // that record may hold more
}

// readAhead reads the log from the newest known record on while the segments are being read,
// where the tail does not have what they lack. log waits for that, and gives what is to be
// read on; stop is called in the end.
func (b *builder) readAhead(ctx context.Context) (log func() *replay, stop func()) {
	from := b.entry.ReplayFrom(math.MaxUint64)
	if from.Seq == 0 || b.tail != nil && b.tail.since(from.Seq) != nil {
		return func() *replay { return nil }, func() {}
	}
	p := &replay{hub: b.hub, id: b.entry.RunID, from: from.StreamSeq}
	ctx, cancel := context.WithCancel(ctx)
	var read sync.WaitGroup
	read.Go(func() { _ = p.turn(ctx) }) // who reads on finds out what is wrong
	return func() *replay { read.Wait(); return p }, func() { cancel(); read.Wait() }
}

// rest folds what no segment holds: from the run's tail where that has it, else from the
// log.
func (b *builder) rest(ctx context.Context, log func() *replay) error {
	if b.tail != nil {
		for _, blk := range b.tail.since(b.data.Seq) {
			if err := b.add(blk, blk.stream); err != nil {
				return err
			}
		}
	}
	if b.enough() {
		return nil
	}
	p := log()
	if p == nil || p.from > b.data.resume {
		p = &replay{hub: b.hub, id: b.entry.RunID, from: b.data.resume}
	}
	for !b.enough() {
		blk, ok, err := p.next(ctx, b.data.Seq)
		if errors.Is(err, ErrBrokerUnavailable) && b.hub.logLost(ctx, b.entry) {
			return nil // the segments are all there is; nobody answers for a stream that is gone
		}
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if err := b.add(blk, p.from); err != nil {
			return err
		}
	}
	if b.tail != nil {
		b.tail.seed(p.read.blocks)
	}
	return nil
}

// enough says that the snapshot reaches as far as it has to.
func (b *builder) enough() bool { return b.head > 0 && b.data.Seq >= b.head }

// add folds a block, after which a replay goes on from a place in the stream.
func (b *builder) add(blk block, resume uint64) error {
	b.count(len(blk.body)) // folded, it is no more than that
	if _, err := b.fold.AddLines(blk.after(b.data.Seq)); err != nil {
		return fmt.Errorf("event after %d of run %s: %w", b.data.Seq, b.entry.RunID, err)
	}
	b.data.Seq = blk.last
	if resume > 0 {
		b.data.resume = resume
	}
	return nil
}
