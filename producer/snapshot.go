package producer

import (
	"context"
	"fmt"
	"slices"

	"github.com/rejoin/rejoin/internal/agui"
)

// Snapshot gives the shortest list of events, one a line, that reduces to the same
// state as all events stored so far, and the seq of the last of them. It is what a
// save stores; everything that Publish took before Finish is in it then.
func (r *Run) Snapshot(ctx context.Context) (events []byte, seq uint64, err error) {
	r.mu.Lock()
	records := slices.Clone(r.history.records)
	covered, segments := r.history.covered, r.history.segments
	r.mu.Unlock()
	seq = covered
	if segments > 0 {
		got := uint64(0)
		for seg, err := range r.p.store.Segments(ctx, r.id, segments) {
			if err != nil {
				return nil, 0, fmt.Errorf("reading back the run's segments: %w", err)
			}
			if seg.From != got+1 || seg.To > covered {
				break // one that was stored just now: its events are at hand
			}
			events = appendLines(events, seg.Events)
			got = seg.To
		}
		if got != covered {
			return nil, 0, fmt.Errorf("%w: segments up to seq %d of %d are there", ErrLogLost, got, covered)
		}
	}
	var fold agui.Fold
	for _, s := range records {
		if err := s.foldInto(&fold); err != nil {
			return nil, 0, err
		}
		seq = s.last
	}
	return appendLines(events, fold.Cut()), seq, nil
}

func appendLines(dst, lines []byte) []byte {
	if len(dst) > 0 && len(lines) > 0 && dst[len(dst)-1] != '\n' {
		dst = append(dst, '\n')
	}
	return append(dst, lines...)
}
