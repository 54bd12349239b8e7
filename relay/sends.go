package relay

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/rejoin/rejoin/internal/problem"
	"github.com/rejoin/rejoin/subjects"
)

// paces bounds how often messages are sent: by one owner, and by all.
type paces struct {
	perOwner rate.Limit
	burst    int
	all      *rate.Limiter

	mu     sync.Mutex
	owners map[subjects.Realm]*list.Element
	recent list.List // of *sender, the one who sent last in front
}

// pace is how often one owner has sent.
type pace struct {
	owner  subjects.Realm
	bucket *rate.Limiter
}

// maxPaces is how many owners are remembered. Who has not sent for longer than as many
// others have is forgotten, and may send as if it never had: a bucket is full again after
// a minute anyway.
const maxPaces = 1 << 16

func newPaces(l Limits) *paces {
	s := &paces{perOwner: rate.Inf, all: rate.NewLimiter(rate.Inf, 0), owners: map[subjects.Realm]*list.Element{}}
	if l.OwnerSends > 0 {
		s.perOwner, s.burst = rate.Limit(float64(l.OwnerSends)/60), max(1, l.OwnerSends/4)
	}
	if l.Sends > 0 {
		s.all = rate.NewLimiter(rate.Limit(l.Sends), l.Sends)
	}
	return s
}

// take takes one message's place. The error is errOwnerSends or errSends, as a problem
// that says when there is room.
func (s *paces) take(owner subjects.Realm, now time.Time) error {
	bucket := s.of(owner)
	mine := bucket.ReserveN(now, 1)
	if wait := mine.DelayFrom(now); wait > 0 {
		mine.CancelAt(now)
		return problem.New(problem.TooManyRequests, "you send messages faster than is allowed here").After(wait).Because(errOwnerSends)
	}
	all := s.all.ReserveN(now, 1)
	if wait := all.DelayFrom(now); wait > 0 {
		all.CancelAt(now)
		mine.CancelAt(now)
		return unavailable(problem.TooManyRequests, "this relay takes no more messages at the moment; try again later or elsewhere").Because(errSends)
	}
	return nil
}

var unlimited = rate.NewLimiter(rate.Inf, 0)

// of is the bucket of an owner. Nobody has one without a bottom.
func (s *paces) of(owner subjects.Realm) *rate.Limiter {
	if s.perOwner == rate.Inf || owner == "" {
		return unlimited
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.owners[owner]; at != nil {
		s.recent.MoveToFront(at)
		return at.Value.(*pace).bucket
	}
	if s.recent.Len() >= maxPaces {
		last := s.recent.Back()
		s.recent.Remove(last)
		delete(s.owners, last.Value.(*pace).owner)
	}
	p := &pace{owner, rate.NewLimiter(s.perOwner, s.burst)}
	s.owners[owner] = s.recent.PushFront(p)
	return p.bucket
}

// maySend says whether the caller may send a message now.
func (s *Server) maySend(ctx context.Context) error {
	err := s.paces.take(ownerOf(ctx), time.Now())
	s.sendRefused(err)
	return err
}

// sendRefused counts a message that was refused, if that is what happened.
func (s *Server) sendRefused(err error) {
	for why, refused := range map[string]error{"owner": errOwnerSends, "relay": errSends, "room": errBusy} {
		if errors.Is(err, refused) {
			s.metrics.sendsRefused.WithLabelValues(why).Inc()
		}
	}
}
