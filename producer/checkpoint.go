package producer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// How long one attempt at storing a segment may take, and how long the next one waits.
const (
	checkpointTimeout  = 5 * time.Second
	checkpointPerMiB   = time.Second
	checkpointRetry    = 50 * time.Millisecond
	checkpointMaxRetry = 2 * time.Second
)

// timeFor is the time that so many bytes are given to be stored.
func timeFor(size int) time.Duration {
	return checkpointTimeout + time.Duration(size>>20)*checkpointPerMiB
}

// cut is a segment that is ready to be stored.
type cut struct {
	subjects.Segment
	n      int // its place in the run
	body   []byte
	events int // before they were folded
}

// checkpointIfDue starts the one goroutine that stores segments, unless it is at
// work. The caller holds mu.
func (r *Run) checkpointIfDue() {
	if r.cutting || r.err != nil || !r.wanted() {
		return
	}
	r.cutting = r.p.spawn(&r.p.wg, r.checkpoints)
}

// wanted says whether the next segment is to be stored now. The caller holds mu.
func (r *Run) wanted() bool {
	return r.history.due() || (r.all || r.short) && r.history.events > 0
}

// checkpoints stores segments for as long as one is due. A failure is tried again,
// for ever: until then the events stay in memory and in the log.
func (r *Run) checkpoints() {
	wait := checkpointRetry
	var c *cut // nil when the last one is stored
	for {
		r.mu.Lock()
		if r.err != nil || r.ctx.Err() != nil || !r.wanted() {
			r.cutting = false
			r.changed.wake()
			r.mu.Unlock()
			return
		}
		records, from, n := r.history.next(), r.history.covered+1, r.history.segments
		r.mu.Unlock()

		var err error
		if c == nil {
			c, err = r.fold(records, from, n)
		}
		if err == nil {
			err = r.checkpoint(c)
		}
		switch {
		case err == nil:
			c, wait = nil, checkpointRetry
			continue
		case errors.Is(err, ErrFenced):
			r.fail(err)
			continue
		case r.ctx.Err() != nil:
			continue
		}
		r.p.log.Warn("checkpoint not stored; trying again", "run", r.id, "segment", n, "error", err)
		select {
		case <-r.ctx.Done():
		case <-time.After(wait):
		}
		wait = min(2*wait, checkpointMaxRetry)
	}
}

// fold makes a segment of stored records.
func (r *Run) fold(records []stored, from uint64, n int) (*cut, error) {
	var fold agui.Fold
	c := &cut{n: n}
	for _, s := range records {
		if err := s.foldInto(&fold); err != nil {
			return nil, err
		}
		c.events += s.n
	}
	last := records[len(records)-1]
	c.Segment = subjects.Segment{From: from, To: last.last, StreamSeq: last.streamSeq, Writer: r.writer}
	c.body = fold.Cut()
	return c, nil
}

// checkpoint stores a segment and notes it in the entry. Once the segment is
// stored nothing can be lost, so an entry that cannot be changed is left to the
// next checkpoint: readers look for segments that it does not name.
func (r *Run) checkpoint(c *cut) (err error) {
	ctx, cancel := context.WithTimeout(r.ctx, timeFor(len(c.body)))
	defer cancel()
	began := time.Now()
	defer func() {
		if f := r.p.cfg.Metrics.Checkpoint; f != nil {
			f(c.events, len(c.body), time.Since(began), err)
		}
	}()
	seg := c.Segment
	err = r.p.store.CreateSegment(ctx, r.id, c.n, seg, c.body)
	if errors.Is(err, runs.ErrConflict) {
		seg, err = r.adopt(ctx, c.From, c.n)
	}
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.history.cover(seg.To, c.n)
	r.changed.wake()
	r.mu.Unlock()

	err = r.note(ctx, seg, c.n)
	if err != nil && !errors.Is(err, ErrFenced) && r.ctx.Err() == nil {
		r.p.log.Warn("a stored segment is not noted yet", "run", r.id, "segment", c.n, "error", err)
		err = nil
	}
	return err
}

// adopt takes over a segment that exists already: an earlier attempt stored it, or
// a former writer did that died before it could say so. Either made it from events of
// the same log, so it holds what ours would.
func (r *Run) adopt(ctx context.Context, from uint64, n int) (subjects.Segment, error) {
	got, err := r.p.store.Segment(ctx, r.id, n)
	if err != nil {
		return subjects.Segment{}, err
	}
	switch {
	case got.From != from:
		return subjects.Segment{}, fmt.Errorf("segment %d begins at seq %d, expected %d", n, got.From, from)
	case got.To > r.StoredSeq():
		return subjects.Segment{}, fmt.Errorf("%w: it stored segment %d up to seq %d", ErrFenced, n, got.To)
	}
	return got.Segment, nil
}

// note enters a segment into the run's entry. The revision known from the last time
// is tried first; only when somebody else changed the entry is it read again.
func (r *Run) note(ctx context.Context, seg subjects.Segment, n int) error {
	change := func(e *runs.Entry) error {
		if err := r.owns(e); err != nil {
			return err
		}
		e.Segments = max(e.Segments, n+1)
		e.Seq = max(e.Seq, seg.To)
		e.AddMark(runs.Mark{Seq: seg.To, StreamSeq: seg.StreamSeq})
		return nil
	}
	e := *r.entry
	e.Marks = slices.Clone(e.Marks)
	if err := change(&e); err != nil {
		return err
	}
	err := r.p.store.UpdateEntry(ctx, &e)
	if !errors.Is(err, runs.ErrConflict) {
		if err == nil {
			r.entry = &e
		}
		return err
	}
	fresh, err := r.p.store.ChangeEntry(ctx, r.id, change)
	if err == nil {
		r.entry = fresh
	}
	return err
}

// coverAll stores segments until they hold every event, or until ctx is done.
func (r *Run) coverAll(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = true
	r.checkpointIfDue()
	err := r.await(ctx, func() bool { return r.history.events == 0 && !r.cutting })
	r.all = false
	return err
}
