package relay

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/rejoin/rejoin/internal/auth"
)

// errCredential is why somebody may not go on watching.
var errCredential = fmt.Errorf("what was watched with is not valid any more: %w", auth.ErrExpired)

const (
	// credentialCheck is how often it is asked whether the keys behind open streams have
	// been withdrawn.
	credentialCheck = 2 * time.Second
	// withdrawalWindow is over what time the streams of a withdrawn key are closed.
	withdrawalWindow = time.Second
	// maxExpirySpread is by how much a stream may be closed before its credential expires,
	// and no more than a tenth of what that has left: credentials that were made together
	// would otherwise be replaced together.
	maxExpirySpread = 10 * time.Second
)

// credentials sees to it that nobody watches or produces for longer than their credential is good.
// It is nil where nobody is authenticated.
type credentials struct {
	valid func(*auth.Identity) bool

	mu    sync.Mutex
	open  map[guest]*auth.Identity
	check *time.Timer // nil while nobody is there
}

// guest is somebody who may have to leave: an observer, or a request that is none.
type guest interface {
	dismiss(c cause, why error, window time.Duration)
}

// body is the request of a producer, whose body may stay open for as long as its run.
type body struct {
	over func() // may be called twice
}

func (b *body) dismiss(_ cause, _ error, window time.Duration) {
	time.AfterFunc(rand.N(window+1), b.over)
}

func newCredentials(valid func(*auth.Identity) bool) *credentials {
	return &credentials{valid: valid, open: map[guest]*auth.Identity{}}
}

// enter has somebody told to leave when the credential is over. leave is called when they
// are gone.
func (c *credentials) enter(o guest, id *auth.Identity) (leave func()) {
	if c == nil {
		return func() {}
	}
	var expiry *time.Timer
	if !id.Expires.IsZero() {
		expiry = time.AfterFunc(untilCut(time.Until(id.Expires)), func() { o.dismiss(causeExpired, errCredential, 0) })
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[o] = id
	if c.check == nil {
		c.check = time.AfterFunc(credentialCheck, c.look)
	}
	return func() {
		if expiry != nil {
			expiry.Stop()
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, o)
		if len(c.open) == 0 && c.check != nil {
			c.check.Stop()
			c.check = nil
		}
	}
}

// untilCut is how long a stream may go on whose credential has so long.
func untilCut(left time.Duration) time.Duration {
	spread := min(left/10, maxExpirySpread)
	if left < time.Second { // it has just come back, for the moment that is left
		spread = 0
	}
	return left - rand.N(spread+1)
}

// look sends away whose key has been withdrawn.
func (c *credentials) look() {
	var over []guest // told without the lock, which observers take while they hold their own
	c.mu.Lock()
	for o, id := range c.open {
		if !c.valid(id) {
			over = append(over, o)
		}
	}
	if c.check != nil {
		c.check.Reset(credentialCheck)
	}
	c.mu.Unlock()
	for _, o := range over {
		o.dismiss(causeExpired, errCredential, withdrawalWindow)
	}
}

// bounded notes in a producer's request when its credential is over. leave is called when
// the request is.
func (s *Server) bounded(r *http.Request, id *auth.Identity) (bounded *http.Request, leave func()) {
	if s.observers.guard == nil {
		return r, func() {}
	}
	over, cancel := context.WithCancel(context.Background())
	left := s.observers.guard.enter(&body{over: cancel}, id)
	return r.WithContext(auth.Until(r.Context(), over.Done())), func() { left(); cancel() }
}

// stillValid says whether an identity would be accepted still, however it came.
func (s *Server) stillValid(id *auth.Identity) bool {
	if id.Resume != nil {
		return s.cfg.Resume != nil && s.cfg.Resume.Valid(id)
	}
	return s.cfg.Auth.Valid(id)
}
