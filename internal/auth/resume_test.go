package auth_test

import (
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/auth"
	"github.com/rejoin/rejoin/subjects"
)

func newResume(t testing.TB, c auth.ResumeConfig) *auth.Resume {
	t.Helper()
	r, err := auth.NewResume(c)
	require.NoError(t, err)
	return r
}

func identityOf(t testing.TB, tenant, user string) *auth.Identity {
	t.Helper()
	realm, err := subjects.NewRealm(tenant, user)
	require.NoError(t, err)
	return &auth.Identity{Tenant: tenant, Owner: user, Realm: realm, Roles: auth.NewRoles(auth.Observer, auth.Admin)}
}

func privateSet(pairs ...pair) []byte {
	var keys []map[string]any
	for _, p := range pairs {
		keys = append(keys, p.private())
	}
	return set(keys...)
}

var grant = auth.Grant{ChatID: "chat *", RunID: subjects.NewRunID(1)}

func mint(t testing.TB, r *auth.Resume, id *auth.Identity) string {
	t.Helper()
	token, _, err := r.Mint(id, grant)
	require.NoError(t, err)
	require.True(t, auth.IsResume(token))
	return token
}

func TestAResumeTokenIsBoundAndReadOnly(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]string{"random": "", "Ed25519": file(t, privateSet(newEd("a"))), "secret": file(t, privateSet(newHS("a"))),
		"one JWK": file(t, asJSON(newEd("a").private()))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newResume(t, auth.ResumeConfig{KeyFile: keys})
			from := time.Now()
			token, expires, err := r.Mint(identityOf(t, "acme", "ann=é"), grant)
			require.NoError(t, err)
			require.WithinRange(t, expires, from.Add(auth.DefaultResumeTTL-time.Second), time.Now().Add(auth.DefaultResumeTTL))
			id, err := r.Verify(token)
			require.NoError(t, err)
			require.Equal(t, &grant, id.Resume)
			require.Equal(t, "acme", id.Tenant)
			require.Equal(t, "ann=é", id.Owner)
			require.Equal(t, identityOf(t, "acme", "ann=é").Realm, id.Realm)
			require.Zero(t, id.Roles, "it inherits none")
			require.Equal(t, expires.Unix(), id.Expires.Unix())
			require.True(t, r.Valid(id))
			_, _, err = r.Mint(id, grant)
			require.ErrorIs(t, err, auth.ErrInvalid, "it cannot prolong itself")
		})
	}
}

func TestAResumeTokenLivesNoLongerThanItsCaller(t *testing.T) {
	t.Parallel()
	key := newEd("k")
	const leeway = time.Minute
	j := open(t, publicSet(key), func(c *auth.JWTConfig) { c.Leeway = leeway })
	r := newResume(t, auth.ResumeConfig{Leeway: leeway, TTL: time.Hour})
	exp := time.Now().Add(100 * time.Second).Truncate(time.Second)
	id := accepted(t, j, key.token(t, claims(map[string]any{"exp": exp.Unix()}), nil))
	token, expires, err := r.Mint(id, grant)
	require.NoError(t, err)
	require.Equal(t, exp, expires)
	back, err := r.Verify(token)
	require.NoError(t, err)
	require.False(t, back.Expires.After(id.Expires))

	short := newResume(t, auth.ResumeConfig{TTL: time.Minute})
	_, expires, err = short.Mint(id, grant)
	require.NoError(t, err)
	require.True(t, expires.Before(exp))
}

// Neither kind passes for the other, also where somebody gave both the same keys.
func TestResumeTokensAndOthersAreNeverMixedUp(t *testing.T) {
	t.Parallel()
	key := newEd("k")
	j := open(t, publicSet(key), nil)
	r := newResume(t, auth.ResumeConfig{KeyFile: file(t, privateSet(key))})
	resume := mint(t, r, identityOf(t, "", "ann"))
	_, err := j.Authenticate(t.Context(), resume)
	require.ErrorIs(t, err, auth.ErrInvalid)
	_, err = r.Verify(key.good(t))
	require.ErrorIs(t, err, auth.ErrInvalid)
	require.False(t, auth.IsResume(key.good(t)))

	good := jwt.MapClaims{"aud": "urn:rejoin:resume", "sub": "ann", "tnt": "", "chat": "c", "run": string(grant.RunID), "exp": time.Now().Add(time.Hour).Unix()}
	typ := map[string]any{"typ": "rejoin-resume+jwt"}
	id, err := r.Verify(key.token(t, good, typ))
	require.NoError(t, err, "so it is the rest that counts below")
	require.Equal(t, "c", id.Resume.ChatID)
	for name, token := range map[string]string{
		"typ":         key.token(t, good, nil),
		"no typ":      key.token(t, good, map[string]any{"typ": nil}),
		"audience":    key.token(t, claims(nil), typ),
		"no run":      key.token(t, jwt.MapClaims{"aud": good["aud"], "sub": "ann", "chat": "c", "exp": good["exp"]}, typ),
		"no chat":     key.token(t, jwt.MapClaims{"aud": good["aud"], "sub": "ann", "run": good["run"], "exp": good["exp"]}, typ),
		"no exp":      key.token(t, jwt.MapClaims{"aud": good["aud"], "sub": "ann", "chat": "c", "run": good["run"]}, typ),
		"another key": newEd("k").token(t, good, typ),
		"unknown kid": newEd("x").token(t, good, typ),
		"confusion":   pair{"k", jwt.SigningMethodHS256, key.pem(), nil}.token(t, good, typ),
		"garbage":     "x",
	} {
		_, err := r.Verify(token)
		require.ErrorIs(t, err, auth.ErrInvalid, name)
		requireNothingOf(t, err, token)
	}
	_, err = r.Verify("")
	require.ErrorIs(t, err, auth.ErrNoCredential)
	good["exp"] = time.Now().Add(-time.Second).Unix()
	_, err = r.Verify(key.token(t, good, typ))
	require.ErrorIs(t, err, auth.ErrExpired)
}

func TestRandomResumeKeysAreOfOneProcess(t *testing.T) {
	t.Parallel()
	a, b := newResume(t, auth.ResumeConfig{}), newResume(t, auth.ResumeConfig{})
	token := mint(t, a, identityOf(t, "", "ann"))
	_, err := b.Verify(token)
	require.ErrorIs(t, err, auth.ErrInvalid)
	running(t, a.Run)()
}

func TestResumeKeysRotate(t *testing.T) {
	t.Parallel()
	old, next := newEd("a"), newHS("b")
	path := file(t, privateSet(old))
	r := newResume(t, auth.ResumeConfig{KeyFile: path, Refresh: time.Millisecond})
	stop := running(t, r.Run)
	defer stop()
	ann := identityOf(t, "", "ann")
	before := mint(t, r, ann)
	id, err := r.Verify(before)
	require.NoError(t, err)

	replace(t, path, privateSet(next, old))
	require.Eventually(t, func() bool {
		id, err := r.Verify(mint(t, r, ann))
		return err == nil && id.KeyID == "b"
	}, time.Minute, time.Millisecond, "the first one signs")
	_, err = r.Verify(before)
	require.NoError(t, err, "all verify")

	replace(t, path, privateSet(next))
	require.Eventually(t, func() bool { return !r.Valid(id) }, time.Minute, time.Millisecond)
	_, err = r.Verify(before)
	require.ErrorIs(t, err, auth.ErrInvalid)

	replace(t, path, publicSet(old)) // nothing there signs
	require.Eventually(t, func() bool {
		_, _, err := r.Mint(ann, grant)
		return err != nil && strings.Contains(err.Error(), auth.ErrUnavailable.Error())
	}, time.Minute, time.Millisecond)
}

// A token that rests on a credential falls with that credential's key.
func TestAResumeTokenFallsWithTheKeyOfItsCaller(t *testing.T) {
	t.Parallel()
	old, next := newEd("a"), newEd("b")
	path := file(t, publicSet(old))
	j, err := auth.NewJWT(auth.JWTConfig{KeyFile: path, Issuer: issuer, Audience: audience, Refresh: time.Millisecond})
	require.NoError(t, err)
	stop := running(t, j.Run)
	defer stop()
	r := newResume(t, auth.ResumeConfig{Callers: j})
	token := mint(t, r, accepted(t, j, old.good(t)))
	id, err := r.Verify(token)
	require.NoError(t, err)
	require.True(t, r.Valid(id))

	replace(t, path, publicSet(next))
	require.Eventually(t, func() bool { return !r.Valid(id) }, time.Minute, time.Millisecond)
	_, err = r.Verify(token)
	require.ErrorIs(t, err, auth.ErrInvalid)

	open := newResume(t, auth.ResumeConfig{Callers: auth.None()})
	everybody, err := auth.None().Authenticate(t.Context(), "")
	require.NoError(t, err)
	_, err = open.Verify(mint(t, open, everybody))
	require.NoError(t, err)
}

func TestResumeConfigurationsThatCannotWork(t *testing.T) {
	t.Parallel()
	nameless := newEd("").private()
	delete(nameless, "kid")
	for says, c := range map[string]auth.ResumeConfig{
		"allowed are 1s":      {TTL: time.Millisecond},
		"negative":            {Leeway: -1},
		"no JWK":              {KeyFile: file(t, []byte(strings.Repeat("x", 40)))},
		"no JWK and":          {KeyFile: file(t, newEd("a").pem())},
		"must be a private":   {KeyFile: file(t, publicSet(newEd("a"), newEd("b")))},
		"must be a private o": {KeyFile: file(t, publicSet(newRSA("a")))},
		"no kid":              {KeyFile: file(t, set(nameless))},
		"no such file":        {KeyFile: "/nowhere/at/all"},
	} {
		_, err := auth.NewResume(c)
		require.ErrorContains(t, err, says)
	}
	wrong := newEd("a").private()
	wrong["d"] = newEd("b").private()["d"]
	_, err := auth.NewResume(auth.ResumeConfig{KeyFile: file(t, asJSON(wrong))})
	require.ErrorContains(t, err, "not of the same key")
}

func TestSignMakesTokensForTryingOut(t *testing.T) {
	t.Parallel()
	for _, p := range []pair{newEd("a"), newHS("b")} {
		j := open(t, publicSet(p), nil)
		token, err := auth.Sign(file(t, set(newRSA("r").jwk(), p.private())), claims(nil))
		require.NoError(t, err)
		require.Equal(t, p.kid, accepted(t, j, token).KeyID)
	}
	private, public, err := auth.NewKeys()
	require.NoError(t, err)
	token, err := auth.Sign(file(t, private), claims(nil))
	require.NoError(t, err)
	accepted(t, open(t, public, nil), token)
	_, err = auth.Sign(file(t, publicSet(newEd("a"))), claims(nil))
	require.ErrorIs(t, err, auth.ErrKeys)
}
