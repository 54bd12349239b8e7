package relay

import (
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/rejoin/rejoin/internal/auth"
	"github.com/rejoin/rejoin/internal/problem"
)

// tellRefusals is how often operators are told that credentials are refused: a wrong
// audience refuses everybody's, and the relay looks well.
const tellRefusals = time.Minute

// refusedCredentials tells operators what clients are not told: why credentials are
// refused. No error of package auth holds a part of one.
type refusedCredentials struct {
	log     *slog.Logger
	metrics *Metrics

	mu    sync.Mutex
	told  time.Time
	since int // not told of one by one since then
}

// Why a credential is refused, as the metrics have it.
const (
	refusedNone        = "none"
	refusedExpired     = "expired"
	refusedInvalid     = "invalid"
	refusedUnavailable = "unavailable"
	refusedRole        = "role"
)

var credentialRefusals = []string{refusedNone, refusedExpired, refusedInvalid, refusedUnavailable, refusedRole}

// note counts a refusal. That clients have no token, or an old one, is their daily
// business; anything else may be a wrong configuration, and is said now and then.
func (c *refusedCredentials) note(r *http.Request, why string, err error) {
	c.metrics.credentials.WithLabelValues(why).Inc()
	route := chi.RouteContext(r.Context()).RoutePattern()
	c.log.Debug("a credential is refused", "route", route, "why", why, "error", err)
	if why == refusedNone || why == refusedExpired || why == refusedRole {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since++
	if now := time.Now(); c.told.IsZero() || now.Sub(c.told) >= tellRefusals {
		c.log.Warn("credentials are refused; where that is nearly all, look at issuer, audience and keys", "refused", c.since, "last", err, "route", route)
		c.told, c.since = now, 0
	}
}

// refuse says which credential is needed, and not what was wrong with the one given.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) error {
	switch {
	case errors.Is(err, auth.ErrNoCredential):
		s.credentials.note(r, refusedNone, err)
		w.Header().Set("WWW-Authenticate", auth.Challenge)
		return problem.New(problem.Unauthenticated, "there is no credential; send Authorization: Bearer and a token").Because(err)
	case errors.Is(err, auth.ErrExpired):
		s.credentials.note(r, refusedExpired, err)
		w.Header().Set("WWW-Authenticate", auth.ExpiredChallenge)
		return problem.New(problem.TokenExpired, "the token has expired; come back with a fresh one").Because(err)
	case errors.Is(err, auth.ErrInvalid):
		s.credentials.note(r, refusedInvalid, err)
		w.Header().Set("WWW-Authenticate", auth.Challenge+`, error="invalid_token"`)
		return problem.New(problem.InvalidToken, "the token is not accepted here").Because(err)
	case errors.Is(err, auth.ErrUnavailable):
		s.credentials.note(r, refusedUnavailable, err)
		return unavailable(problem.Unavailable, "tokens cannot be checked at the moment; try again later").Because(err)
	}
	return err
}
