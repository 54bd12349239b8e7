package subjects

import (
	"fmt"
	"strings"
)

// Realm is the space in which a chat id is unique: a tenant, and inside it one user. It
// is one token of a key, encoded already. The zero value is the realm of everybody where
// nobody is authenticated: the tenant "" and no user. Two realms never share a chat,
// whatever its id.
type Realm string

// realmUser joins tenant and user. No token has it.
const realmUser = "="

// NewRealm encodes a tenant and a user, each of which may be empty. The only error is
// ErrTooLong.
func NewRealm(tenant, user string) (Realm, error) {
	t, err := Token(tenant)
	if err != nil {
		return "", fmt.Errorf("tenant: %w", err)
	}
	if user == "" {
		if tenant == "" {
			return "", nil
		}
		return Realm(t), nil
	}
	u, err := Token(user)
	if err != nil {
		return "", fmt.Errorf("user: %w", err)
	}
	return Realm(t + realmUser + u), nil
}

// ParseRealm accepts exactly what NewRealm gives; anything else is ErrToken or ErrTooLong.
func ParseRealm(s string) (Realm, error) {
	tenant, user, err := Realm(s).parts()
	if err != nil {
		return "", err
	}
	if r, err := NewRealm(tenant, user); err != nil || string(r) != s {
		return "", ErrToken
	}
	return Realm(s), nil
}

// Tenant is the realm's tenant.
func (r Realm) Tenant() string {
	tenant, _, _ := r.parts()
	return tenant
}

// User is the realm's user, "" where it has none.
func (r Realm) User() string {
	_, user, _ := r.parts()
	return user
}

func (r Realm) parts() (tenant, user string, err error) {
	if r == "" {
		return "", "", nil
	}
	t, u, has := strings.Cut(string(r), realmUser)
	if tenant, err = ParseToken(t); err != nil || !has {
		return tenant, "", err
	}
	user, err = ParseToken(u)
	return tenant, user, err
}

// token is the realm as a key has it.
func (r Realm) token() string {
	if r == "" {
		return emptyToken
	}
	return string(r)
}
