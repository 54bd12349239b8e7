package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	// MaxToken is the largest token, in bytes. Headers of 8 KiB are what proxies let
	// through.
	MaxToken = 8 << 10

	// DefaultLeeway is what a relay allows for clocks that do not agree, unless told
	// otherwise.
	DefaultLeeway = time.Minute

	// DefaultRolesClaim is the claim with the roles.
	DefaultRolesClaim = "roles"

	defaultURLRefresh  = time.Minute
	defaultFileRefresh = 5 * time.Second
	defaultMinRefresh  = 10 * time.Second
	fileMinRefresh     = time.Second
)

// JWTConfig says which tokens are accepted.
type JWTConfig struct {
	// KeyFile names a file with public keys in PEM (also certificates), a JWK, a JWK
	// set, or the secret for HS256. Either it or JWKSURL is required.
	KeyFile string
	// JWKSURL is where a JWK set is served: https, or http on this machine.
	JWKSURL string

	Issuer   string // required: what iss must be
	Audience string // required: what must be in aud

	TenantClaim string        // which claim is the tenant; "" means that all are in the tenant ""
	RolesClaim  string        // which claim has the roles; "" means DefaultRolesClaim
	Leeway      time.Duration // by how much clocks may differ; 0 means not at all

	Refresh    time.Duration // how often the keys are read again; 0 means 1 min for a URL, 5 s for a file
	MinRefresh time.Duration // the least between two readings where tokens name unknown keys; 0 means 10 s for a URL, 1 s for a file

	HTTP       *http.Client // fetches JWKSURL; nil means one of this package's own
	AllowPlain bool         // JWKSURL may be http:// to other machines
	Logger     *slog.Logger // may be nil
}

// JWT accepts JSON Web Tokens. It is safe for concurrent use.
type JWT struct {
	ring   *keyring
	parser *jwt.Parser
	claims claimNames
}

// NewJWT reads the key file, or looks at the URL without fetching it. Keys change only
// while Run runs. The error is ErrConfig, or ErrKeys for a file that cannot be used.
func NewJWT(c JWTConfig) (*JWT, error) {
	switch {
	case (c.KeyFile == "") == (c.JWKSURL == ""):
		return nil, fmt.Errorf("%w: KeyFile or JWKSURL is required, and not both", ErrConfig)
	case c.Issuer == "":
		return nil, fmt.Errorf("%w: Issuer is required", ErrConfig)
	case c.Audience == "":
		return nil, fmt.Errorf("%w: Audience is required", ErrConfig)
	case c.Audience == resumeAudience:
		return nil, fmt.Errorf("%w: Audience is %q, which is that of resume tokens", ErrConfig, c.Audience)
	case c.Leeway < 0 || c.Refresh < 0 || c.MinRefresh < 0:
		return nil, fmt.Errorf("%w: no time may be negative", ErrConfig)
	}
	if c.RolesClaim == "" {
		c.RolesClaim = DefaultRolesClaim
	}
	ring, err := c.keyring()
	if err != nil {
		return nil, err
	}
	return &JWT{ring: ring, claims: claimNames{tenant: c.TenantClaim, roles: c.RolesClaim, leeway: c.Leeway},
		parser: newParser(c.Leeway, jwt.WithIssuer(c.Issuer), jwt.WithAudience(c.Audience))}, nil
}

func (c JWTConfig) keyring() (*keyring, error) {
	if c.JWKSURL != "" {
		src, err := urlSource(c.JWKSURL, c.HTTP, c.AllowPlain)
		if err != nil {
			return nil, err
		}
		return newKeyring(src, orElse(c.Refresh, defaultURLRefresh), orElse(c.MinRefresh, defaultMinRefresh), c.Logger), nil
	}
	return openKeyFile(c.KeyFile, forChecking, orElse(c.Refresh, defaultFileRefresh), orElse(c.MinRefresh, fileMinRefresh), c.Logger)
}

// openKeyFile is a keyring that has its first set.
func openKeyFile(path string, use purpose, every, gap time.Duration, log *slog.Logger) (*keyring, error) {
	ring := newKeyring(fileSource(path, use), every, gap, log)
	if err := ring.first(context.Background()); err != nil {
		return nil, err
	}
	if len(ring.set.Load().keys) == 0 {
		return nil, fmt.Errorf("%w: %s has none", ErrKeys, path)
	}
	return ring, nil
}

func orElse(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}

// newParser has what holds for every kind of token.
func newParser(leeway time.Duration, more ...jwt.ParserOption) *jwt.Parser {
	return jwt.NewParser(append(more, jwt.WithValidMethods(algorithms), jwt.WithExpirationRequired(),
		jwt.WithIssuedAt(), jwt.WithLeeway(leeway), jwt.WithStrictDecoding())...)
}

// Run keeps the keys fresh until ctx is done. It is called once.
func (j *JWT) Run(ctx context.Context) { j.ring.run(ctx) }

// Authenticate implements Authenticator.
func (j *JWT) Authenticate(ctx context.Context, token string) (*Identity, error) {
	id, err := j.check(token)
	if !errors.Is(err, errUnknownKey) {
		return id, err
	}
	// The key may be newer than the set, or there is no set yet: worth one look.
	ask, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	j.ring.ask(ask)
	if id, err = j.check(token); !errors.Is(err, errUnknownKey) {
		return id, err
	}
	if j.ring.set.Load() == nil || j.ring.failing() {
		return nil, fmt.Errorf("%w: %s", ErrUnavailable, j.ring.source.name)
	}
	return nil, err
}

// check judges a token by the keys there are.
func (j *JWT) check(token string) (*Identity, error) {
	set := j.ring.set.Load()
	var by *key
	claims, err := parse(j.parser, token, func(h header) (k *key, err error) {
		if h.typ == resumeType {
			return nil, refusal("it is a resume token")
		}
		by, err = set.find(h)
		return by, err
	})
	if err != nil {
		return nil, err
	}
	return j.claims.identity(claims, by)
}

// Valid implements Authenticator.
func (j *JWT) Valid(id *Identity) bool { return !id.expired() && j.ring.hasAll(id.prints) }

// hasAll says whether none of the keys has been withdrawn.
func (r *keyring) hasAll(prints []string) bool {
	set := r.set.Load()
	if set == nil {
		return false
	}
	for _, p := range prints {
		if !set.has(p) {
			return false
		}
	}
	return true
}
