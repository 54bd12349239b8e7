package runs

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

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

// Segments reads the segments of a run in order, from the first one to the last
// there is. known is how many are known to exist: one of them that a lagging
// replica does not show is read at the leader. What is yielded tiles the seqs from
// 1 on; an error ends the sequence.
func (s *Store) Segments(ctx context.Context, id subjects.RunID, known int) iter.Seq2[SegmentData, error] {
	return func(yield func(SegmentData, error) bool) {
		for n := 0; ; {
			page, more, err := s.segmentPage(ctx, id, n, known)
			if err != nil {
				yield(SegmentData{}, err)
				return
			}
			for _, seg := range page {
				if !yield(seg, nil) {
					return
				}
			}
			n += len(page)
			if !more {
				return
			}
		}
	}
}

// segmentPage reads the segments from n on, as many as fit, and says whether it is
// worth asking again.
func (s *Store) segmentPage(ctx context.Context, id subjects.RunID, n, known int) ([]SegmentData, bool, error) {
	ask := directGet{MaxBytes: segmentPageBytes}
	// One more than is known: a newer one may have been stored since.
	until := n + min(max(known-n+1, 1), segmentPage)
	for i := n; i < until; i++ {
		ask.Multi = append(ask.Multi, subjects.KeySubject(subjects.SegmentKey(id, i)))
	}
	found, cut, err := s.direct(ctx, subjects.BucketStream, ask)
	if err != nil {
		return nil, false, err
	}
	var page []SegmentData
	for i := n; i < until; i++ {
		at := slices.IndexFunc(found, func(m message) bool { return m.subject == ask.Multi[i-n] })
		var seg SegmentData
		switch {
		case at >= 0:
			seg, err = s.whole(ctx, id, i, found[at])
		case cut && i > n:
			return page, true, nil
		case i < known:
			seg, err = s.Segment(ctx, id, i)
		default:
			return page, false, nil
		}
		if errors.Is(err, ErrNotFound) {
			return page, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		page = append(page, seg)
	}
	return page, true, nil
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
