package auth

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"

	"github.com/rejoin/rejoin/subjects"
)

// claimNames says which claims make an identity.
type claimNames struct {
	tenant string // "" for none
	roles  string
	leeway time.Duration
}

func (n claimNames) identity(c jwt.MapClaims, by *key) (*Identity, error) {
	owner, err := nameClaim(c, "sub")
	if err != nil {
		return nil, err
	}
	tenant := ""
	if n.tenant != "" {
		if tenant, err = nameClaim(c, n.tenant); err != nil {
			return nil, err
		}
	}
	roles, err := rolesOf(c[n.roles])
	if err != nil {
		return nil, refusal("the claim with the roles " + err.Error())
	}
	return newIdentity(tenant, owner, roles, expiry(c, n.leeway), by)
}

func newIdentity(tenant, owner string, roles Roles, expires time.Time, by *key) (*Identity, error) {
	realm, err := subjects.NewRealm(tenant, owner)
	if err != nil {
		return nil, refusal(err.Error())
	}
	return &Identity{Tenant: tenant, Owner: owner, Realm: realm, Roles: roles, Expires: expires,
		KeyID: by.id, prints: []string{by.print}}, nil
}

// expiry is when a token stops being accepted. It has an exp; that was checked.
func expiry(c jwt.MapClaims, leeway time.Duration) time.Time {
	exp, err := c.GetExpirationTime()
	if err != nil || exp == nil {
		return time.Unix(0, 0)
	}
	return exp.Add(leeway)
}

// nameClaim is a claim that names somebody. What is no text in the token has become
// U+FFFD while it was decoded; two names must not become one that way.
func nameClaim(c jwt.MapClaims, name string) (string, error) {
	s, ok := c[name].(string)
	switch {
	case !ok:
		return "", refusal(fmt.Sprintf("the claim %.64q is missing or no string", name))
	case s == "":
		return "", refusal(fmt.Sprintf("the claim %.64q is empty", name))
	case len(s) > subjects.MaxOutside:
		return "", refusal(fmt.Sprintf("the claim %.64q is longer than %d bytes", name, subjects.MaxOutside))
	case strings.ContainsRune(s, utf8.RuneError):
		return "", refusal(fmt.Sprintf("the claim %.64q is not valid UTF-8", name))
	}
	return s, nil
}

// rolesOf reads roles: an array of strings, or one string with spaces between them.
// Unknown ones belong to somebody else. Who has none is an observer.
func rolesOf(claim any) (Roles, error) {
	var set Roles
	switch v := claim.(type) {
	case nil:
	case string:
		for _, r := range strings.Fields(v) {
			set |= NewRoles(Role(r))
		}
	case []any:
		for _, one := range v {
			r, ok := one.(string)
			if !ok {
				return 0, fmt.Errorf("has something in it that is no string")
			}
			set |= NewRoles(Role(r))
		}
	default:
		return 0, fmt.Errorf("is neither an array of strings nor a string")
	}
	if set == 0 {
		set = NewRoles(Observer)
	}
	return set, nil
}
