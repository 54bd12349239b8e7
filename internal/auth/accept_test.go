package auth_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/auth"
	"github.com/rejoin/rejoin/subjects"
)

func TestEveryAlgorithmIsAcceptedWithAKeyOfItsKind(t *testing.T) {
	t.Parallel()
	ed, ec, rs, hs := newEd("ed"), newEC("ec"), newRSA("rs"), newHS("hs")
	j := open(t, publicSet(ed, ec, rs, hs), nil)
	for _, p := range []pair{ed, ec, rs, hs} {
		id := accepted(t, j, p.good(t))
		require.Equal(t, p.kid, id.KeyID)
		require.Equal(t, "ann", id.Owner)
	}
}

func TestAnIdentityIsWhatTheClaimsSay(t *testing.T) {
	t.Parallel()
	key := newEd("k")
	j := open(t, publicSet(key), func(c *auth.JWTConfig) { c.TenantClaim, c.RolesClaim = "https://example.com/org", "scope" })
	exp := time.Now().Add(10 * time.Minute).Truncate(time.Second)
	id := accepted(t, j, key.token(t, claims(map[string]any{"https://example.com/org": "acme.com", "sub": "ann*é", "aud": []string{"other", audience},
		"scope": "producer openid admin", "exp": exp.Unix(), "nbf": time.Now().Unix(), "iat": time.Now().Unix()}), nil))
	realm, err := subjects.NewRealm("acme.com", "ann*é")
	require.NoError(t, err)
	require.Equal(t, realm, id.Realm)
	require.Equal(t, "acme.com", id.Tenant)
	require.Equal(t, "ann*é", id.Owner)
	require.Equal(t, auth.NewRoles(auth.Producer, auth.Admin), id.Roles)
	require.Equal(t, exp.Add(time.Minute).UTC(), id.Expires.UTC(), "the leeway is part of it")
	require.Nil(t, id.Resume)

	without := open(t, publicSet(key), nil)
	id = accepted(t, without, key.token(t, claims(map[string]any{"tenant": "acme"}), nil))
	require.Empty(t, id.Tenant, "no claim for it is configured")
	require.Equal(t, "ann", id.Realm.User())
}

func TestRoles(t *testing.T) {
	t.Parallel()
	key := newEd("k")
	j := open(t, publicSet(key), nil)
	for _, c := range []struct {
		claim any
		want  string
	}{
		{nil, "observer"},
		{"", "observer"},
		{[]string{}, "observer"},
		{[]string{"billing"}, "observer"},
		{[]string{"Admin", "admin "}, "observer"},
		{"observer", "observer"},
		{[]string{"producer"}, "producer"},
		{[]string{"admin", "billing", "producer", "admin"}, "producer,admin"},
		{" observer  producer admin ", "observer,producer,admin"},
	} {
		id := accepted(t, j, key.token(t, claims(map[string]any{"roles": c.claim}), nil))
		require.Equal(t, c.want, id.Roles.String(), "%v", c.claim)
	}
	require.False(t, auth.NewRoles("root").Has("root"))
	require.False(t, auth.NewRoles().Has(auth.Observer))
}

// The clocks of an issuer and of a relay may differ by minutes, in both directions.
func TestLeewayCoversClocksThatDiffer(t *testing.T) {
	t.Parallel()
	key := newEd("k")
	lenient := open(t, publicSet(key), func(c *auth.JWTConfig) { c.Leeway = 6 * time.Minute })
	strict := open(t, publicSet(key), func(c *auth.JWTConfig) { c.Leeway = 0 })
	for _, skew := range []time.Duration{-5 * time.Minute, 5 * time.Minute} {
		theirs := time.Now().Add(skew)
		token := key.token(t, claims(map[string]any{"iat": theirs.Unix(), "nbf": theirs.Unix(), "exp": theirs.Add(time.Minute).Unix()}), nil)
		accepted(t, lenient, token)
		_, err := strict.Authenticate(t.Context(), token)
		require.Error(t, err, skew)
	}
}

func TestNoneIsEverybody(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"", "x", strings.Repeat("x", 1<<20)} {
		id, err := auth.None().Authenticate(t.Context(), token)
		require.NoError(t, err)
		require.Equal(t, "observer,producer,admin", id.Roles.String())
		require.Zero(t, id.Realm)
		require.True(t, id.Expires.IsZero())
		require.True(t, auth.None().Valid(id))
	}
}

func TestAnIdentityIsValidUntilItExpires(t *testing.T) {
	t.Parallel()
	key := newEd("k")
	j := open(t, publicSet(key), nil)
	id := accepted(t, j, key.good(t))
	old := *id
	old.Expires = time.Now().Add(-time.Millisecond)
	require.False(t, j.Valid(&old))
}
