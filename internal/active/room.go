package active

import "sync"

// room is the log of what changed in one realm, from the change on that its slowest
// subscriber has not taken. It exists for as long as it has subscribers.
type room struct {
	limit int // changes that the log may hold

	mu     sync.Mutex
	log    []*Run
	base   uint64 // number of the first change in the log
	trim   int    // the length at which to look for what everybody has taken
	wake   chan struct{}
	closed bool
	subs   map[*Subscription]struct{}
}

// firstTrim is how long a log gets before anybody looks for what everybody has taken.
const firstTrim = 64

func newRoom(limit int) *room {
	return &room{limit: limit, trim: min(limit, firstTrim), wake: make(chan struct{}), subs: map[*Subscription]struct{}{}}
}

// add appends one change and wakes those who wait. It costs the same for any number of
// subscribers, but for now and then.
func (r *room) add(run *Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.log) >= r.trim {
		r.shorten()
	}
	r.log = append(r.log, run)
	close(r.wake)
	r.wake = make(chan struct{})
}

// shorten drops what everybody has taken, and the older half if that is not enough: whoever
// needs it has fallen behind. Callers hold mu.
func (r *room) shorten() {
	slowest := r.base + uint64(len(r.log))
	for s := range r.subs {
		slowest = min(slowest, max(s.next, r.base))
	}
	drop := int(slowest - r.base)
	if len(r.log)-drop >= r.limit {
		drop = (len(r.log) + 1) / 2
	}
	r.log = append([]*Run(nil), r.log[drop:]...)
	r.base += uint64(drop)
	r.trim = min(r.limit, max(firstTrim, 2*len(r.log)))
}

// join lets a subscriber take what changes from now on.
func (r *room) join(s *Subscription) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.room, s.next = r, r.base+uint64(len(r.log))
	r.subs[s] = struct{}{}
}

// leave is join's opposite and says whether somebody is left.
func (r *room) leave(s *Subscription) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.subs, s)
	return len(r.subs) > 0
}

// close ends the room for all who are in it.
func (r *room) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	close(r.wake)
	r.wake = make(chan struct{})
}
