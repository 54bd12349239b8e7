package active

import (
	"slices"

	"github.com/rejoin/rejoin/subjects"
)

// Subscription is one subscriber's place in what changes in its realm. Take and Changed
// are for one goroutine.
type Subscription struct {
	// Runs are those that were live when the subscription began, the newest first, at most
	// Config.MaxRuns. Truncated says that there were more: those that are not here show with
	// their next change.
	Runs      []*Run
	Truncated bool

	realm   subjects.Realm
	session *session
	room    *room
	next    uint64 // number of the next change to take, under room.mu
	over    bool
}

// Take gives what has changed since, oldest first and at most most changes; none when there is nothing
// yet. A run comes at its end with State ended and then no more. The error is ErrBehind or
// ErrClosed.
func (s *Subscription) Take(most int) ([]*Run, error) {
	r := s.room
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.next < r.base {
		return nil, ErrBehind
	}
	changed := r.log[s.next-r.base:]
	if len(changed) == 0 && r.closed {
		return nil, ErrClosed
	}
	changed = slices.Clone(changed[:min(len(changed), most)])
	s.next += uint64(len(changed))
	return changed, nil
}

// Changed is closed once there is something to take that there is not now. Ask for it
// before Take.
func (s *Subscription) Changed() <-chan struct{} {
	s.room.mu.Lock()
	defer s.room.mu.Unlock()
	return s.room.wake
}

// Close gives the place up. It may be called twice.
func (s *Subscription) Close() {
	if s.over {
		return
	}
	s.over = true
	s.session.leave(s)
	s.session.feed.release()
}
