package auth_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/auth"
)

const (
	issuer   = "https://issuer.example"
	audience = "rejoin"
)

// pair is a key with both parts.
type pair struct {
	kid    string
	method jwt.SigningMethod
	sign   any
	public any
}

func newEd(kid string) pair {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		panic(err)
	}
	return pair{kid, jwt.SigningMethodEdDSA, private, public}
}

func newEC(kid string) pair {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return pair{kid, jwt.SigningMethodES256, private, &private.PublicKey}
}

// oneRSA is shared: making one takes long.
var oneRSA = sync.OnceValue(func() *rsa.PrivateKey {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return private
})

func newRSA(kid string) pair {
	return pair{kid, jwt.SigningMethodRS256, oneRSA(), &oneRSA().PublicKey}
}

func newHS(kid string) pair {
	secret := []byte(rand.Text() + rand.Text())
	return pair{kid, jwt.SigningMethodHS256, secret, secret}
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// jwk is the key's public part; that of a secret is the secret.
func (p pair) jwk() map[string]any {
	m := map[string]any{"kid": p.kid, "alg": p.method.Alg(), "use": "sig"}
	switch k := p.public.(type) {
	case ed25519.PublicKey:
		m["kty"], m["crv"], m["x"] = "OKP", "Ed25519", b64(k)
	case *ecdsa.PublicKey:
		point, err := k.Bytes()
		if err != nil {
			panic(err)
		}
		m["kty"], m["crv"], m["x"], m["y"] = "EC", "P-256", b64(point[1:33]), b64(point[33:])
	case *rsa.PublicKey:
		m["kty"], m["n"], m["e"] = "RSA", b64(k.N.Bytes()), b64(big.NewInt(int64(k.E)).Bytes())
	case []byte:
		m["kty"], m["k"] = "oct", b64(k)
	}
	return m
}

// private is the key with both parts, as resume keys are.
func (p pair) private() map[string]any {
	m := p.jwk()
	if k, ok := p.sign.(ed25519.PrivateKey); ok {
		m["d"] = b64(k.Seed())
	}
	return m
}

func (p pair) pem() []byte {
	der, err := x509.MarshalPKIXPublicKey(p.public)
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func set(keys ...map[string]any) []byte {
	if keys == nil {
		keys = []map[string]any{}
	}
	doc, err := json.Marshal(map[string]any{"keys": keys})
	if err != nil {
		panic(err)
	}
	return doc
}

func publicSet(pairs ...pair) []byte {
	var keys []map[string]any
	for _, p := range pairs {
		keys = append(keys, p.jwk())
	}
	return set(keys...)
}

// claims are good ones, but for what change says; nil removes.
func claims(change map[string]any) jwt.MapClaims {
	c := jwt.MapClaims{"iss": issuer, "aud": audience, "sub": "ann", "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(c, change)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// token signs claims; header changes the token's header, nil removes.
func (p pair) token(t testing.TB, c jwt.MapClaims, header map[string]any) string {
	t.Helper()
	tok := jwt.NewWithClaims(p.method, c)
	tok.Header["kid"] = p.kid
	maps.Copy(tok.Header, header)
	maps.DeleteFunc(tok.Header, func(_ string, v any) bool { return v == nil })
	s, err := tok.SignedString(p.sign)
	require.NoError(t, err)
	return s
}

func (p pair) good(t testing.TB) string { return p.token(t, claims(nil), nil) }

func file(t testing.TB, doc []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys")
	require.NoError(t, os.WriteFile(path, doc, 0o600))
	return path
}

// replace changes a file as whoever rotates keys should: at once.
func replace(t testing.TB, path string, doc []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path+".new", doc, 0o600))
	require.NoError(t, os.Rename(path+".new", path))
}

func open(t testing.TB, doc []byte, change func(*auth.JWTConfig)) *auth.JWT {
	t.Helper()
	c := auth.JWTConfig{KeyFile: file(t, doc), Issuer: issuer, Audience: audience, Leeway: time.Minute}
	if change != nil {
		change(&c)
	}
	j, err := auth.NewJWT(c)
	require.NoError(t, err)
	return j
}

func accepted(t testing.TB, j *auth.JWT, token string) *auth.Identity {
	t.Helper()
	id, err := j.Authenticate(t.Context(), token)
	require.NoError(t, err)
	require.True(t, j.Valid(id))
	return id
}

// running runs fn in the background; what it returns ends it and waits.
func running(t testing.TB, fn func(context.Context)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { fn(ctx) })
	return func() {
		cancel()
		wg.Wait()
	}
}
