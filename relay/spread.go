package relay

import (
	"math/rand/v2"
	"time"

	"github.com/rejoin/rejoin/consumer"
)

// The observers of a relay that dies come back to the others all at once, and of that
// they cannot be told when it happens. So each is told while it watches how long to stay
// away: the longer the more observers there are, so that 1,000 of them need seven seconds
// and no second has a fifth of them. A few are told nothing: what clients wait by
// themselves is enough.
const (
	spreadEach  = 7 * time.Millisecond
	spreadMost  = 15 * time.Second
	spreadLeast = 500 * time.Millisecond
)

// spread is over how long the observers should come back.
func (all *observers) spread() time.Duration {
	return min(time.Duration(all.count.Load())*spreadEach, spreadMost)
}

// spreader tells one observer, again whenever the answer has changed by much.
type spreader struct {
	over func() time.Duration // nil: it is not told
	told time.Duration
}

// append appends what the observer has to be told, if that is anything.
func (s *spreader) append(dst []byte) []byte {
	if s.over == nil {
		return dst
	}
	now := s.over()
	if !s.due(now) {
		return dst
	}
	s.told = now
	return consumer.AppendRetry(dst, rand.N(now+1))
}

// due says whether the observer has to be told what is so now.
func (s *spreader) due(now time.Duration) bool {
	grown := now >= spreadLeast && now > s.told+s.told/10
	return s.over != nil && (grown || now < s.told/2)
}
