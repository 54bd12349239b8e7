package auth_test

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/auth"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	ed, ec, rs, hs := newEd("ed"), newEC("ec"), newRSA("rs"), newHS("hs")
	j := open(t, publicSet(ed, ec, rs, hs), func(c *auth.JWTConfig) { c.TenantClaim = "org" })
	now := time.Now()
	with := func(change map[string]any) jwt.MapClaims {
		c := claims(map[string]any{"org": "acme"})
		for name, v := range change {
			c[name] = v
			if v == nil {
				delete(c, name)
			}
		}
		return c
	}
	edWith := func(change map[string]any) string { return ed.token(t, with(change), nil) }
	accepted(t, j, edWith(nil))

	stranger, impostor := newEd("stranger"), newEd("ed")
	unsigned, err := jwt.NewWithClaims(jwt.SigningMethodNone, with(nil)).SignedString(jwt.UnsafeAllowNoneSignatureType)
	require.NoError(t, err)
	head, rest, _ := strings.Cut(edWith(nil), ".")
	body, signature, _ := strings.Cut(rest, ".")
	header := func(h string) string { return b64([]byte(h)) }
	// What a library that mixes keys up would accept: a public key as the secret.
	confused := func(kid string, secret []byte) string {
		return pair{kid, jwt.SigningMethodHS256, secret, nil}.token(t, with(nil), nil)
	}
	own := func(p pair) map[string]any {
		return map[string]any{"jwk": p.jwk(), "jku": "https://evil.example", "x5u": "https://evil.example", "kid": "ed"}
	}

	for name, c := range map[string]struct {
		token string
		want  error
	}{
		"none":                          {"", auth.ErrNoCredential},
		"garbage":                       {"garbage", auth.ErrInvalid},
		"dots":                          {"..", auth.ErrInvalid},
		"many dots":                     {strings.Repeat(".", 8000), auth.ErrInvalid},
		"huge":                          {edWith(map[string]any{"pad": strings.Repeat("x", auth.MaxToken)}), auth.ErrInvalid},
		"NUL":                           {"\x00.\x00.\x00", auth.ErrInvalid},
		"expired":                       {edWith(map[string]any{"exp": now.Add(-2 * time.Minute).Unix()}), auth.ErrExpired},
		"expired, and not for us":       {edWith(map[string]any{"exp": now.Add(-2 * time.Minute).Unix(), "aud": "x"}), auth.ErrInvalid},
		"expired, forged":               {impostor.token(t, with(map[string]any{"exp": now.Add(-2 * time.Minute).Unix()}), nil), auth.ErrInvalid},
		"no exp":                        {edWith(map[string]any{"exp": nil}), auth.ErrInvalid},
		"exp a string":                  {edWith(map[string]any{"exp": "9999999999"}), auth.ErrInvalid},
		"exp beyond all":                {edWith(map[string]any{"exp": math.MaxInt64}), auth.ErrInvalid},
		"exp true":                      {edWith(map[string]any{"exp": true}), auth.ErrInvalid},
		"not yet":                       {edWith(map[string]any{"nbf": now.Add(2 * time.Minute).Unix()}), auth.ErrInvalid},
		"from the future":               {edWith(map[string]any{"iat": now.Add(2 * time.Minute).Unix()}), auth.ErrInvalid},
		"another audience":              {edWith(map[string]any{"aud": "others"}), auth.ErrInvalid},
		"audience by prefix":            {edWith(map[string]any{"aud": audience + "x"}), auth.ErrInvalid},
		"no audience":                   {edWith(map[string]any{"aud": nil}), auth.ErrInvalid},
		"audience of numbers":           {edWith(map[string]any{"aud": []any{1}}), auth.ErrInvalid},
		"another issuer":                {edWith(map[string]any{"iss": issuer + "/"}), auth.ErrInvalid},
		"no issuer":                     {edWith(map[string]any{"iss": nil}), auth.ErrInvalid},
		"no sub":                        {edWith(map[string]any{"sub": nil}), auth.ErrInvalid},
		"empty sub":                     {edWith(map[string]any{"sub": ""}), auth.ErrInvalid},
		"sub a number":                  {edWith(map[string]any{"sub": 7}), auth.ErrInvalid},
		"sub an object":                 {edWith(map[string]any{"sub": map[string]any{"a": 1}}), auth.ErrInvalid},
		"long sub":                      {edWith(map[string]any{"sub": strings.Repeat("x", 257)}), auth.ErrInvalid},
		"sub of half a character":       {edWith(map[string]any{"sub": json.RawMessage(`"ann\ud800"`)}), auth.ErrInvalid},
		"no tenant":                     {edWith(map[string]any{"org": nil}), auth.ErrInvalid},
		"empty tenant":                  {edWith(map[string]any{"org": ""}), auth.ErrInvalid},
		"tenant a list":                 {edWith(map[string]any{"org": []string{"acme"}}), auth.ErrInvalid},
		"long tenant":                   {edWith(map[string]any{"org": strings.Repeat("x", 257)}), auth.ErrInvalid},
		"roles a number":                {edWith(map[string]any{"roles": 1}), auth.ErrInvalid},
		"roles an object":               {edWith(map[string]any{"roles": map[string]any{"admin": true}}), auth.ErrInvalid},
		"roles with a number":           {edWith(map[string]any{"roles": []any{"admin", 1}}), auth.ErrInvalid},
		"no kid":                        {ed.token(t, with(nil), map[string]any{"kid": nil}), auth.ErrInvalid},
		"kid a number":                  {ed.token(t, with(nil), map[string]any{"kid": 1}), auth.ErrInvalid},
		"unknown kid":                   {stranger.token(t, with(nil), nil), auth.ErrInvalid},
		"another key's kid":             {ed.token(t, with(nil), map[string]any{"kid": "ec"}), auth.ErrInvalid},
		"forged under a known kid":      {impostor.token(t, with(nil), nil), auth.ErrInvalid},
		"crit":                          {ed.token(t, with(nil), map[string]any{"crit": []string{"b64"}, "b64": false}), auth.ErrInvalid},
		"typ of resume tokens":          {ed.token(t, with(nil), map[string]any{"typ": "Rejoin-Resume+JWT"}), auth.ErrInvalid},
		"typ of resume tokens, spelt":   {ed.token(t, with(nil), map[string]any{"typ": "application/rejoin-resume+jwt"}), auth.ErrInvalid},
		"jwk and jku of its own":        {stranger.token(t, with(nil), own(stranger)), auth.ErrInvalid},
		"alg none":                      {unsigned, auth.ErrInvalid},
		"alg none, kid":                 {header(`{"alg":"none","kid":"ed"}`) + "." + body + ".", auth.ErrInvalid},
		"alg None":                      {header(`{"alg":"None","kid":"ed"}`) + "." + body + "." + signature, auth.ErrInvalid},
		"no alg":                        {header(`{"kid":"ed"}`) + "." + body + "." + signature, auth.ErrInvalid},
		"alg a number":                  {header(`{"alg":1,"kid":"ed"}`) + "." + body + "." + signature, auth.ErrInvalid},
		"another alg of RSA":            {pair{"rs", jwt.SigningMethodPS256, oneRSA(), nil}.token(t, with(nil), nil), auth.ErrInvalid},
		"a longer hash":                 {pair{"hs", jwt.SigningMethodHS512, hs.sign, nil}.token(t, with(nil), nil), auth.ErrInvalid},
		"Ed25519 key as a secret":       {confused("ed", ed.public.(ed25519.PublicKey)), auth.ErrInvalid},
		"RSA key in PEM as a secret":    {confused("rs", rs.pem()), auth.ErrInvalid},
		"EC key in PEM as a secret":     {confused("ec", ec.pem()), auth.ErrInvalid},
		"signature cut":                 {head + "." + body + "." + signature[:40], auth.ErrInvalid},
		"no signature":                  {head + "." + body + ".", auth.ErrInvalid},
		"another body":                  {head + "." + b64([]byte(`{"sub":"eve"}`)) + "." + signature, auth.ErrInvalid},
		"padding":                       {edWith(nil) + "=", auth.ErrInvalid},
		"line break at the end":         {edWith(nil) + "\n", auth.ErrInvalid},
		"Bearer twice":                  {"Bearer " + edWith(nil), auth.ErrInvalid},
		"claims that are no object":     {header(`{"alg":"EdDSA","kid":"ed"}`) + "." + b64([]byte(`[]`)) + "." + signature, auth.ErrInvalid},
		"claims null":                   {header(`{"alg":"EdDSA","kid":"ed"}`) + "." + b64([]byte(`null`)) + "." + signature, auth.ErrInvalid},
		"header null":                   {header(`null`) + "." + body + "." + signature, auth.ErrInvalid},
		"five parts, as encrypted ones": {"a.b.c.d.e", auth.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, err := j.Authenticate(t.Context(), c.token)
			require.ErrorIs(t, err, c.want)
			require.Nil(t, id)
			if errors.Is(c.want, auth.ErrInvalid) {
				require.NotErrorIs(t, err, auth.ErrExpired)
			}
			requireNothingOf(t, err, c.token)
		})
	}
}

// requireNothingOf says that no part of a token is in an error, which goes to the log.
func requireNothingOf(t testing.TB, err error, token string) {
	t.Helper()
	for part := range strings.SplitSeq(token, ".") {
		if len(part) > 8 {
			require.NotContains(t, err.Error(), part)
			require.NotContains(t, err.Error(), part[:8])
		}
	}
	require.NotContains(t, err.Error(), "eve")
	require.Less(t, len(err.Error()), 200)
}

// Where the keys have no names, tokens need not name one, and one that does is judged by
// what the keys are.
func TestUnnamedKeysAreTriedByTheirKind(t *testing.T) {
	t.Parallel()
	ed, other, ec := newEd(""), newEd(""), newEC("")
	j := open(t, append(append(ed.pem(), ec.pem()...), other.pem()...), nil)
	a := accepted(t, j, ed.token(t, claims(nil), map[string]any{"kid": nil}))
	b := accepted(t, j, other.token(t, claims(nil), map[string]any{"kid": "whatever"}))
	require.NotEqual(t, a.KeyID, b.KeyID)
	accepted(t, j, ec.good(t))
	for _, token := range []string{newEd("").good(t), newHS("").good(t), pair{"", jwt.SigningMethodHS256, ed.pem(), nil}.good(t), newRSA("").good(t)} {
		_, err := j.Authenticate(t.Context(), token)
		require.ErrorIs(t, err, auth.ErrInvalid)
	}
}
