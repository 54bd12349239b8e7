package runs

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/rejoin/rejoin/subjects"
)

// segmentPage is how many segments are asked for at once: at the usual 256 KiB each
// it fills the 4 MiB that a page may have.
const (
	segmentPage      = 16
	segmentPageBytes = 4 << 20
	segmentHeadRoom  = 256
)

// SegmentData is a segment with its events, one a line.
type SegmentData struct {
	subjects.Segment
	N      int // its place in the run, from 0
	Events []byte
}

// CreateSegment stores the nth segment of a run, in several values when it is larger
// than one message. The head is stored last, so a segment that can be seen is whole.
// ErrConflict says that this segment exists: segments are never changed.
func (s *Store) CreateSegment(ctx context.Context, id subjects.RunID, n int, seg subjects.Segment, events []byte) error {
	limit := int(s.nc.MaxPayload()) - subjects.HeaderRoom - segmentHeadRoom
	parts := slices.Collect(slices.Chunk(events, limit))
	if len(parts) == 0 {
		parts = [][]byte{nil}
	}
	seg.Parts = len(parts)
	for i, part := range parts[1:] {
		key := subjects.SegmentPartKey(id, n, seg.Writer, i+1)
		if _, err := s.put(ctx, &nats.Msg{Subject: subjects.KeySubject(key), Data: part}, nil); err != nil {
			return err
		}
	}
	value := subjects.AppendSegment(nil, seg, parts[0])
	_, err := s.settleKey(ctx, subjects.KeySubject(subjects.SegmentKey(id, n)), value, 0)
	return err
}

// Segment reads one segment at the leader; ErrNotFound where it does not exist.
func (s *Store) Segment(ctx context.Context, id subjects.RunID, n int) (SegmentData, error) {
	m, err := s.value(ctx, subjects.KeySubject(subjects.SegmentKey(id, n)))
	if err != nil {
		return SegmentData{}, err
	}
	return s.whole(ctx, id, n, m)
}

// Segments is SegmentsFrom for all of them.
func (s *Store) Segments(ctx context.Context, id subjects.RunID, known int) iter.Seq2[SegmentData, error] {
	return s.SegmentsFrom(ctx, id, 0, known)
}

// segmentsAhead is how many pages of segments that are known to exist are asked for at once.
const segmentsAhead = 3

// SegmentsFrom reads the segments of a run in order, from the nth one to the last
// there is. known is how many are known to exist: one of them that a lagging
// replica does not show is read at the leader. What is yielded from n = 0 tiles the seqs
// from 1 on; an error ends the sequence.
func (s *Store) SegmentsFrom(ctx context.Context, id subjects.RunID, n, known int) iter.Seq2[SegmentData, error] {
	return func(yield func(SegmentData, error) bool) {
		var asked sync.WaitGroup
		defer asked.Wait()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var ahead []chan segmentAnswer
		ask := func(n int) {
			c := make(chan segmentAnswer, 1)
			ahead = append(ahead, c)
			asked.Go(func() { c <- s.segmentPage(ctx, id, n, known) })
		}
		for next := n; ; {
			for len(ahead) < segmentsAhead && (next < known || len(ahead) == 0) {
				ask(next)
				next += segmentPage
			}
			page := <-ahead[0]
			ahead = ahead[1:]
			for _, seg := range page.segments {
				if !yield(seg, nil) {
					return
				}
			}
			n += len(page.segments)
			switch {
			case page.err != nil:
				yield(SegmentData{}, page.err)
				return
			case !page.more:
				return
			case len(page.segments) < segmentPage: // they are larger than usual
				next, ahead = n, nil
			}
		}
	}
}

// segmentAnswer is a page of segments. More says that it is worth asking again.
type segmentAnswer struct {
	segments []SegmentData
	more     bool
	err      error
}

// segmentPage reads the segments from n on, as many as fit.
func (s *Store) segmentPage(ctx context.Context, id subjects.RunID, n, known int) segmentAnswer {
	ask := directGet{MaxBytes: segmentPageBytes}
	// One more than is known: a newer one may have been stored since.
	until := n + min(max(known-n+1, 1), segmentPage)
	for i := n; i < until; i++ {
		ask.Multi = append(ask.Multi, subjects.KeySubject(subjects.SegmentKey(id, i)))
	}
	found, cut, err := s.direct(ctx, subjects.BucketStream, ask)
	if err != nil {
		return segmentAnswer{err: err}
	}
	var page []SegmentData
	for i := n; i < until; i++ {
		at := slices.IndexFunc(found, func(m message) bool { return m.subject == ask.Multi[i-n] })
		var seg SegmentData
		switch {
		case at >= 0:
			seg, err = s.whole(ctx, id, i, found[at])
		case cut && i > n:
			return segmentAnswer{page, true, nil}
		case i < known:
			seg, err = s.Segment(ctx, id, i)
		default:
			return segmentAnswer{segments: page}
		}
		if errors.Is(err, ErrNotFound) {
			return segmentAnswer{segments: page}
		}
		if err != nil {
			return segmentAnswer{page, false, err}
		}
		page = append(page, seg)
	}
	return segmentAnswer{page, true, nil}
}

// whole adds the further parts of a large segment to its head.
func (s *Store) whole(ctx context.Context, id subjects.RunID, n int, head message) (SegmentData, error) {
	seg, body, err := subjects.ParseSegment(head.data)
	if err != nil {
		return SegmentData{}, fmt.Errorf("segment %d of run %s: %w", n, id, err)
	}
	for i := 1; i < seg.Parts; i++ {
		key := subjects.SegmentPartKey(id, n, seg.Writer, i)
		part, err := s.value(ctx, subjects.KeySubject(key))
		if err != nil {
			return SegmentData{}, fmt.Errorf("part %d of segment %d of run %s: %w", i, n, id, err)
		}
		body = append(body, part.data...)
	}
	return SegmentData{Segment: seg, N: n, Events: body}, nil
}
