package consumer

import (
	"context"
	"sync"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// A snapshot is shared by all who need one while it is in use: a herd that comes at
// once, or readers so slow that the first still has it when the last comes, cost the
// memory of one. A large one may then be a little behind, and is followed by a replay;
// a small one is cheaper made anew.
const (
	sharedBytes  = 1 << 20
	sharedBehind = 4 // a part of the gap threshold
)

// shelf holds the newest snapshot of each run that somebody is giving out or making.
type shelf struct {
	mu   sync.Mutex
	runs map[subjects.RunID]*shared
}

// shared is a run's place on the shelf. All of it is guarded by shelf.mu.
type shared struct {
	id      subjects.RunID
	busy    chan struct{} // closed when the build under way is over; nil when there is none
	waiting int           // who has yet to look at what was built
	last    *built        // nil where there is none
}

// built is a snapshot with those who hold it.
type built struct {
	data  SnapshotData
	share share // of the budget; given back when nobody holds it any more
	users int
}

// snapshot gives a snapshot of a run that reaches to head, or not far from it unless it
// has to be exact, and beyond past, which is what the reader has. It is held until
// Release.
func (h *Hub) snapshot(ctx context.Context, e *runs.Entry, head, past uint64, exact bool) (*SnapshotData, error) {
	sh := &h.shelf
	sh.mu.Lock()
	for {
		s := sh.runs[e.RunID]
		if s == nil {
			s = &shared{id: e.RunID}
			sh.runs[e.RunID] = s
		}
		if s.last != nil && h.good(&s.last.data, head, past, exact) {
			defer sh.mu.Unlock()
			return h.hold(s, s.last), nil
		}
		if s.busy == nil {
			return h.buildFor(ctx, s, e, head)
		}
		busy := s.busy
		s.waiting++
		sh.mu.Unlock()
		var err error
		select {
		case <-busy:
		case <-ctx.Done():
			err = ctx.Err()
		}
		sh.mu.Lock()
		s.waiting--
		if err != nil {
			h.tidy(s)
			sh.mu.Unlock()
			return nil, err
		}
	}
}

// buildFor builds a snapshot for all who wait for one. It is called with the shelf's
// lock, and lets go of it.
func (h *Hub) buildFor(ctx context.Context, s *shared, e *runs.Entry, head uint64) (*SnapshotData, error) {
	s.busy = make(chan struct{})
	if s.last != nil && s.last.users == 0 {
		s.last.share.set(0) // or the build might wait for it
		s.last = nil
	}
	h.shelf.mu.Unlock()
	b := &built{share: share{of: h.budget}}
	var err error
	b.data, err = h.build(ctx, e, head, &b.share)
	h.shelf.mu.Lock()
	defer h.shelf.mu.Unlock()
	close(s.busy)
	s.busy = nil
	if err != nil {
		b.share.set(0)
		h.tidy(s)
		return nil, err
	}
	if s.last != nil && s.last.users == 0 { // given up while this one was being built
		s.last.share.set(0)
	}
	s.last = b
	return h.hold(s, b), nil
}

// hold gives one more user a snapshot. Callers hold the shelf's lock.
func (h *Hub) hold(s *shared, b *built) *SnapshotData {
	b.users++
	data := b.data
	data.held = &heldSnapshot{hub: h, place: s, built: b}
	data.held.begin(int64(data.Events.Len()))
	h.tidy(s)
	return &data
}

// tidy removes what nobody needs any more. Callers hold the shelf's lock.
func (h *Hub) tidy(s *shared) {
	if b := s.last; b != nil && b.users == 0 && s.waiting == 0 {
		b.share.set(0)
		s.last = nil
	}
	if s.last == nil && s.busy == nil && s.waiting == 0 && h.shelf.runs[s.id] == s {
		delete(h.shelf.runs, s.id)
	}
}

// heldSnapshot is one user's hold on a snapshot.
type heldSnapshot struct {
	hold
	hub   *Hub
	place *shared
	built *built
	over  sync.Once
}

// Release lets go of the snapshot: its events are not to be used afterwards. It may be
// called twice.
func (d *SnapshotData) Release() {
	if d == nil || d.held == nil {
		return
	}
	d.held.over.Do(func() {
		d.held.end()
		h, b := d.held.hub, d.held.built
		h.shelf.mu.Lock()
		defer h.shelf.mu.Unlock()
		if b.users--; b.users == 0 && d.held.place.last != b {
			b.share.set(0) // a newer one has taken its place
		}
		h.tidy(d.held.place)
	})
}

// Overdue says that the snapshot has been held for longer than it may while others wait
// for its room: whoever it is written to is too slow.
func (d *SnapshotData) Overdue() bool {
	return d != nil && d.held != nil && d.held.overdue(d.held.hub.budget, d.held.hub.cfg.HoldTime)
}

// good says whether a snapshot that exists is good for a reader.
func (h *Hub) good(d *SnapshotData, head, past uint64, exact bool) bool {
	if exact {
		return d.Seq >= head
	}
	return h.serves(d, head, past)
}

// serves says whether a snapshot that exists is good for a reader that may get one which
// is a little behind.
func (h *Hub) serves(d *SnapshotData, head, past uint64) bool {
	if d.Seq <= past {
		return false
	}
	return d.Seq >= head || d.Events.Len() >= sharedBytes && head-d.Seq <= h.cfg.GapThreshold/sharedBehind
}
