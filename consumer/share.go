package consumer

import (
	"context"
	"sync"
	"weak"

	"github.com/rejoin/rejoin/internal/runs"
)

// A large snapshot is shared by the readers who need one while it is in use: a herd
// that comes at once, or readers so slow that the first still has it when the last
// comes, cost the memory of one. It may then be a little behind, and is followed by
// a replay; a small one is cheaper made anew.
const (
	sharedBytes  = 1 << 20
	sharedBehind = 4 // a part of the gap threshold
)

// shared is the newest snapshot of one run, for as long as some reader gives it out.
// The zero value is ready.
type shared struct {
	mu   sync.Mutex
	busy chan struct{} // closed when the build under way is over; nil when there is none
	last weak.Pointer[SnapshotData]
}

// snapshot gives a snapshot of a run that reaches to head or not far from it, and
// beyond past, which is what the reader has. Whoever holds the pointer keeps it shared.
func (o *observed) snapshot(ctx context.Context, e *runs.Entry, head, past uint64) (*SnapshotData, error) {
	s := &o.shared
	for {
		s.mu.Lock()
		if got := s.last.Value(); got != nil && o.hub.serves(got, head, past) {
			s.mu.Unlock()
			return got, nil
		}
		busy := s.busy
		if busy == nil {
			s.busy = make(chan struct{})
			s.mu.Unlock()
			break
		}
		s.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	data, err := o.hub.build(ctx, e, head)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.last = weak.Make(&data)
	}
	close(s.busy)
	s.busy = nil
	return &data, err
}

// serves says whether a snapshot that exists is good for a reader.
func (h *Hub) serves(d *SnapshotData, head, past uint64) bool {
	if d.Seq <= past {
		return false
	}
	return d.Seq >= head || len(d.Events) >= sharedBytes && head-d.Seq <= h.cfg.GapThreshold/sharedBehind
}
