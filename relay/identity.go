package relay

import (
	"context"
	"net/http"
	"strings"

	"github.com/rejoin/rejoin/internal/auth"
	"github.com/rejoin/rejoin/internal/problem"
)

// access says who may use a route.
type access string

const (
	public    access = "public"    // everybody, without a credential
	observing access = "observing" // observers, in their own chats
	watcher   access = "watcher"   // observers, and who holds a resume token
	reader    access = "reader"    // observers for their own runs, producers for their tenant's
	producer  access = "producer"  // producers
	admin     access = "admin"     // admins
)

// allows says whether an identity may use the route at all. It is asked before anything is
// looked up, so the answer depends on nothing that is stored.
func (a access) allows(id *auth.Identity) bool {
	switch a {
	case observing:
		return id.Has(auth.Observer)
	case watcher:
		return id.Has(auth.Observer) || id.Resume != nil
	case reader:
		return id.Has(auth.Observer) || id.Has(auth.Producer)
	case producer:
		return id.Has(auth.Producer)
	case admin:
		return id.Has(auth.Admin)
	}
	return false
}

// needs says it in words, for who may not.
func (a access) needs() string {
	switch a {
	case observing:
		return "the role observer"
	case watcher:
		return "the role observer, or a resume token"
	case reader:
		return "the role observer or producer"
	case producer:
		return "the role producer"
	}
	return "the role admin"
}

// identity is who makes a request.
func identity(ctx context.Context) *auth.Identity { return auth.From(ctx) }

// guard lets a request pass whose caller may use the route, and notes who that is.
func (s *Server) guard(a access, next http.Handler) http.Handler {
	if a == public {
		return next
	}
	return s.handle(func(w http.ResponseWriter, r *http.Request) error {
		id, err := s.authenticate(r, a)
		if err != nil {
			return s.refuse(w, r, err)
		}
		if !a.allows(id) {
			s.credentials.note(r, refusedRole, nil)
			return problem.New(problem.Forbidden, "this needs %s, which the credential does not have", a.needs())
		}
		if s.cfg.Auth != nil {
			r = r.WithContext(auth.With(r.Context(), id))
		}
		if a == producer && r.Method == http.MethodPost {
			var leave func()
			r, leave = s.bounded(r, id)
			defer leave()
		}
		next.ServeHTTP(w, r)
		return nil
	})
}

// bearer is the token of an Authorization header, "" where there is none.
func bearer(r *http.Request) (string, error) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 {
		return "", nil
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	if len(values) > 1 || !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", auth.ErrInvalid
	}
	return strings.TrimSpace(token), nil
}
