package auth

import (
	"context"
	"time"

	"github.com/rejoin/rejoin/subjects"
)

// Identity is who calls: what a credential said, once it was checked. It is never
// changed after it was made, and may be shared.
type Identity struct {
	Tenant string // "" where no claim for it is configured
	Owner  string // the user; "" where nobody is authenticated
	Realm  subjects.Realm
	Roles  Roles
	// Expires is when the credential stops being accepted, leeway included. The zero
	// time is never.
	Expires time.Time
	// KeyID names the key that the credential was signed with; "" where there is none.
	KeyID string
	// Resume, where it is not nil, is all that the caller may watch: the credential was
	// a resume token.
	Resume *Grant

	prints []string // of the keys on which the credential rests
}

// Grant is what a resume token is for: to watch this run of this chat.
type Grant struct {
	ChatID string
	RunID  subjects.RunID
}

// Authenticator turns a credential into an identity. Its methods may be called at once
// from anywhere.
type Authenticator interface {
	// Authenticate checks a token; "" means that none was given. The error is
	// ErrNoCredential, ErrInvalid, ErrExpired or ErrUnavailable. It may block until keys
	// have been fetched, but not beyond ctx.
	Authenticate(ctx context.Context, token string) (*Identity, error)

	// Valid says whether the identity, which came from here, would be accepted still:
	// it has not expired, and its key has not been withdrawn. It is cheap and does not
	// block.
	Valid(id *Identity) bool
}

// None accepts everybody, as the one user of the zero realm who may do everything.
func None() Authenticator { return none{} }

type none struct{}

var everybody = Identity{Roles: NewRoles(Observer, Producer, Admin)}

func (none) Authenticate(context.Context, string) (*Identity, error) {
	id := everybody
	return &id, nil
}

func (none) Valid(*Identity) bool { return true }

// expired says whether the identity's time is over.
func (id *Identity) expired() bool {
	return !id.Expires.IsZero() && !time.Now().Before(id.Expires)
}
