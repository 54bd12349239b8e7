package auth

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"log/slog"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/rejoin/rejoin/subjects"
)

// What tells resume tokens from all others: their typ, and an audience of their own. The
// keys differ too; but were they the same, neither kind would pass for the other.
const (
	resumeType     = "rejoin-resume+jwt"
	resumeAudience = "urn:rejoin:resume"
)

// DefaultResumeTTL is how long a resume token is good for: long enough for a tunnel, too
// short to be worth keeping.
const DefaultResumeTTL = 15 * time.Minute

// ResumeConfig says how resume tokens are made.
type ResumeConfig struct {
	// KeyFile names a file with a JWK, or a JWK set with kids, of private Ed25519 keys
	// (OKP) or secrets for HS256 (oct). The first one signs, all verify. "" means a random
	// key of this process: then only this one relay takes its tokens, until its end.
	KeyFile string

	TTL    time.Duration // 0 means DefaultResumeTTL; at least 1 s
	Leeway time.Duration // by how much the relays' clocks may differ; 0 means not at all

	// Callers is who authenticated the identities that tokens are minted for; with one,
	// a token falls with the key of the credential it was minted for. May be nil.
	Callers Authenticator

	Refresh time.Duration // how often the file is read again; 0 means 5 s
	Logger  *slog.Logger  // may be nil
}

// Resume mints and verifies resume tokens. None is stored anywhere. It is safe for
// concurrent use.
type Resume struct {
	ring    *keyring
	random  bool // the key is this process's own
	parser  *jwt.Parser
	ttl     time.Duration
	leeway  time.Duration
	callers Authenticator
}

// NewResume reads the key file, or makes a key. Keys change only while Run runs. The
// error is ErrConfig or ErrKeys.
func NewResume(c ResumeConfig) (*Resume, error) {
	c.TTL = orElse(c.TTL, DefaultResumeTTL)
	switch {
	case c.TTL < time.Second:
		return nil, fmt.Errorf("%w: TTL is %v, allowed are 1s and more", ErrConfig, c.TTL)
	case c.Leeway < 0 || c.Refresh < 0:
		return nil, fmt.Errorf("%w: no time may be negative", ErrConfig)
	}
	r := &Resume{ttl: c.TTL, leeway: c.Leeway, callers: c.Callers, random: c.KeyFile == "",
		parser: newParser(c.Leeway, jwt.WithAudience(resumeAudience))}
	var err error
	if r.random {
		level := slog.LevelInfo
		if c.Callers == nil {
			level = slog.LevelDebug // nobody is authenticated: whoever may watch a run needs no token for it
		}
		r.ring, err = randomRing(c.Logger, level)
	} else {
		r.ring, err = openKeyFile(c.KeyFile, forSigning, orElse(c.Refresh, defaultFileRefresh), fileMinRefresh, c.Logger)
	}
	if err == nil && r.ring.set.Load().keys[0].sign == nil {
		err = fmt.Errorf("%w: the first one in %s signs and must be a private one (OKP with d, or oct)", ErrKeys, c.KeyFile)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

func randomRing(log *slog.Logger, level slog.Level) (*keyring, error) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKeys, err)
	}
	k, err := newKey(public)
	if err != nil {
		return nil, err
	}
	k.id, k.sign = "random-"+rand.Text()[:8], private
	ring := newKeyring(source{name: "memory", use: forSigning}, 0, 0, log)
	ring.set.Store(&keyset{named: true, keys: []*key{k}})
	ring.log.Log(context.Background(), level, "resume tokens are signed with a key of this process alone: with more than one relay, give all the same keys")
	return ring, nil
}

// Run keeps the keys fresh until ctx is done. It is called once.
func (r *Resume) Run(ctx context.Context) {
	if r.random {
		<-ctx.Done()
		return
	}
	r.ring.run(ctx)
}

// Claims of a resume token beside the standard ones.
const (
	claimTenant = "tnt"
	claimChat   = "chat"
	claimRun    = "run"
	claimCaller = "cky" // the print of the caller's own key
)

// Mint makes a token for watching one run, bound to the identity's tenant and user. It
// is good until expires: for the TTL, and never longer than the identity is. An identity
// that is a grant itself gets none: ErrInvalid.
func (r *Resume) Mint(id *Identity, g Grant) (token string, expires time.Time, err error) {
	if id.Resume != nil {
		return "", time.Time{}, refusal("a resume token mints no other")
	}
	now := time.Now()
	expires = now.Add(r.ttl)
	if most := id.Expires.Add(-r.leeway); !id.Expires.IsZero() && most.Before(expires) {
		expires = most
	}
	expires = expires.Truncate(time.Second) // as exp says it
	set := r.ring.set.Load()
	if len(set.keys) == 0 || set.keys[0].sign == nil {
		return "", time.Time{}, fmt.Errorf("%w: %s has no key that signs", ErrUnavailable, r.ring.source.name)
	}
	claims := jwt.MapClaims{
		"aud": resumeAudience, "sub": id.Owner, claimTenant: id.Tenant, claimChat: g.ChatID, claimRun: string(g.RunID),
		"iat": now.Unix(), "exp": expires.Unix(),
	}
	if len(id.prints) > 0 {
		claims[claimCaller] = id.prints[0]
	}
	token, err = sign(set.keys[0], resumeType, claims)
	return token, expires, err
}

// Verify checks a resume token. The identity has Resume set, and no roles. The error is
// ErrNoCredential, ErrInvalid or ErrExpired.
func (r *Resume) Verify(token string) (*Identity, error) {
	set := r.ring.set.Load()
	var by *key
	c, err := parse(r.parser, token, func(h header) (k *key, err error) {
		if h.typ != resumeType {
			return nil, refusal("it is no resume token")
		}
		by, err = set.find(h)
		return by, err
	})
	if err != nil {
		return nil, err
	}
	id, err := r.identity(c, by)
	if err != nil {
		return nil, err
	}
	switch {
	case r.Valid(id):
		return id, nil
	case id.expired(): // since it was checked
		return nil, ErrExpired
	}
	return nil, refusal("the key of the credential it was made for has been withdrawn")
}

// identity takes the claims as they were minted: the signature is our own.
func (r *Resume) identity(c jwt.MapClaims, by *key) (*Identity, error) {
	var s [5]string
	for i, name := range []string{"sub", claimTenant, claimChat, claimRun, claimCaller} {
		s[i], _ = c[name].(string)
	}
	run, err := subjects.ParseRunID(s[3])
	if err == nil {
		err = subjects.CheckChatID(s[2])
	}
	if err != nil {
		return nil, refusal("it is for no run")
	}
	id, err := newIdentity(s[1], s[0], 0, expiry(c, r.leeway), by)
	if err != nil {
		return nil, err
	}
	id.Resume = &Grant{ChatID: s[2], RunID: run}
	if s[4] != "" {
		id.prints = append(id.prints, s[4])
	}
	return id, nil
}

// Valid says whether an identity from Verify would be accepted still: it has not expired,
// and neither its key nor that of the credential it was minted for has been withdrawn.
func (r *Resume) Valid(id *Identity) bool {
	if id.expired() || !r.ring.hasAll(id.prints[:min(1, len(id.prints))]) {
		return false
	}
	if r.callers == nil || len(id.prints) < 2 {
		return true
	}
	caller := *id
	caller.prints = id.prints[1:]
	return r.callers.Valid(&caller)
}
