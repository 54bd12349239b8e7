package auth

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/rejoin/rejoin/subjects"
)

// Role says what somebody may do besides being somebody.
type Role string

// The roles.
const (
	Observer Role = "observer" // watches and sends to its own chats
	Producer Role = "producer" // writes the runs of its tenant's users
	Admin    Role = "admin"    // switches its tenant's watching off and on
)

// Roles is a set of them.
type Roles uint8

var bits = map[Role]Roles{Observer: 1, Producer: 2, Admin: 4}

// NewRoles makes a set. What is no role is left out.
func NewRoles(roles ...Role) (all Roles) {
	for _, r := range roles {
		all |= bits[r]
	}
	return all
}

// Has says whether the set has the role.
func (s Roles) Has(r Role) bool { return s&bits[r] != 0 }

// Identity is whose request it is. It is not changed once made.
type Identity struct {
	Tenant, Owner string
	Realm         subjects.Realm // of the owner's own chats
	Roles         Roles
	Expires       time.Time // zero: never
	KeyID         string    // of the key that vouched for it

	// Resume, where it is not nil, is all that its holder may do.
	Resume *Grant
}

// Grant lets its holder watch one run of one chat.
type Grant struct {
	ChatID string
	RunID  subjects.RunID
}

// everybody is who nobody has asked for a credential.
var everybody = &Identity{Roles: NewRoles(Observer, Producer, Admin)}

// Has says whether the identity has the role.
func (id *Identity) Has(r Role) bool { return id.Resume == nil && id.Roles.Has(r) }

// Anonymous says that nobody is authenticated here: then there is one realm, and an
// owner is only a label.
func (id *Identity) Anonymous() bool { return id == everybody }

// For gives the realm and the owner of a run that is started for the owner named; "" means
// for the caller itself. The error says in words what is wrong with the owner.
func (id *Identity) For(owner string) (subjects.Realm, string, error) {
	switch {
	case len(owner) > subjects.MaxOutside:
		return "", "", fmt.Errorf("%d bytes long; allowed are up to %d", len(owner), subjects.MaxOutside)
	case !utf8.ValidString(owner):
		return "", "", errors.New("not valid UTF-8")
	case id.Anonymous():
		return "", owner, nil
	case owner == "":
		return id.Realm, id.Owner, nil
	}
	realm, err := subjects.NewRealm(id.Tenant, owner)
	return realm, owner, err
}

// MayProduce says whether the identity may write the runs of a realm.
func (id *Identity) MayProduce(r subjects.Realm) bool {
	return id.Anonymous() || id.Has(Producer) && r.Tenant() == id.Tenant
}

// MayRead says whether the identity may see the runs of a realm: its own, or as a
// producer those of its tenant.
func (id *Identity) MayRead(r subjects.Realm) bool {
	return id.Has(Observer) && r == id.Realm || id.MayProduce(r)
}

type contextKey struct{}

// With puts an identity into a request's context.
func With(ctx context.Context, id *Identity) context.Context {
	return context.WithValue(ctx, contextKey{}, id)
}

// From is the identity of a request: everybody, where none was put into its context.
func From(ctx context.Context) *Identity {
	if id, ok := ctx.Value(contextKey{}).(*Identity); ok {
		return id
	}
	return everybody
}
