package auth

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/rejoin/rejoin/subjects"
)

// Has says whether the identity may act in the role. The holder of a resume token acts
// in none.
func (id *Identity) Has(r Role) bool { return id.Resume == nil && id.Roles.Has(r) }

// Anonymous says that nobody is authenticated here: there is one realm then, and an owner
// that a producer names is only a label.
func (id *Identity) Anonymous() bool { return id.Owner == "" }

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

// MayProduce says whether the identity may write the runs of a realm: as a producer those
// of its own tenant.
func (id *Identity) MayProduce(r subjects.Realm) bool {
	return id.Has(Producer) && r.Tenant() == id.Tenant
}

// MayRead says whether the identity may see the runs of a realm: its own, or as a
// producer those of its tenant.
func (id *Identity) MayRead(r subjects.Realm) bool {
	return id.Has(Observer) && r == id.Realm || id.MayProduce(r)
}

type (
	contextKey struct{}
	untilKey   struct{}
)

// With puts the caller's identity into the context of its request.
func With(ctx context.Context, id *Identity) context.Context {
	return context.WithValue(ctx, contextKey{}, id)
}

// From is the identity of a request's caller: everybody's, where none was put in.
func From(ctx context.Context) *Identity {
	if id, ok := ctx.Value(contextKey{}).(*Identity); ok {
		return id
	}
	id := everybody
	return &id
}

// Until puts into a request's context what is closed when the caller's credential is over. Who
// takes in a request for longer than a moment stops then.
func Until(ctx context.Context, over <-chan struct{}) context.Context {
	return context.WithValue(ctx, untilKey{}, over)
}

// Over is closed when the credential of a request's caller is over: nil, where none was put in.
func Over(ctx context.Context) <-chan struct{} {
	over, _ := ctx.Value(untilKey{}).(<-chan struct{})
	return over
}

// What WWW-Authenticate says: where a token is needed, and where one is over.
const (
	Challenge        = `Bearer realm="rejoin"`
	ExpiredChallenge = Challenge + `, error="invalid_token", error_description="expired"`
)
