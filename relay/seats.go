package relay

import (
	"errors"
	"sync"
	"time"

	"github.com/rejoin/rejoin/subjects"
)

// errOwnerSeats is for somebody who has as many large answers under way as one owner may.
var errOwnerSeats = errors.New("too many large answers of one owner")

const (
	// seatTime is how long an answer may take while others find no seat, and seatPerMiB how
	// much longer for each MiB: 8 Mbit a second is what a poor connection has.
	seatTime   = 15 * time.Second
	seatPerMiB = time.Second

	// wanted is how long it counts that somebody found no seat: who is refused comes back
	// within 5 s.
	wanted = 10 * time.Second
)

// seats are for answers that are held whole until they are written. There are few, and one
// owner has no more than a quarter. Whoever reads so slowly that others find no seat has to
// leave.
type seats struct {
	limit int

	mu      sync.Mutex
	taken   int
	owners  quota[subjects.Realm]
	refused time.Time // when somebody last found all of them taken
}

// seat is one of them. One goroutine at a time uses it.
type seat struct {
	of    *seats
	owner subjects.Realm
	since time.Time
	most  time.Duration
}

func newSeats(limit int) *seats {
	return &seats{limit: limit, owners: quota[subjects.Realm]{limit: max(1, limit/4)}}
}

// take gives a seat, which has to be left. The error is errBusy or errOwnerSeats.
func (s *seats) take(owner subjects.Realm) (*seat, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.taken >= s.limit:
		s.refused = time.Now()
		return nil, errBusy
	case !s.owners.take(owner, 1):
		return nil, errOwnerSeats
	}
	s.taken++
	return &seat{of: s, owner: owner, since: time.Now(), most: seatTime}, nil
}

// holds says how large the answer is.
func (p *seat) holds(bytes int) { p.most = seatTime + time.Duration(bytes>>20)*seatPerMiB }

// overdue says that the answer takes too long while others wait for a seat.
func (p *seat) overdue() bool {
	if time.Since(p.since) <= p.most {
		return false
	}
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	return !p.of.refused.IsZero() && time.Since(p.of.refused) < wanted
}

func (p *seat) leave() {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.of.taken--
	p.of.owners.give(p.owner, 1)
}
