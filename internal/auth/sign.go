package auth

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// sign makes a token with a key that has a private part.
func sign(k *key, typ string, claims jwt.MapClaims) (string, error) {
	method := jwt.GetSigningMethod(k.alg)
	t := jwt.NewWithClaims(method, claims)
	t.Header["typ"], t.Header["kid"] = typ, k.id
	token, err := t.SignedString(k.sign)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrKeys, err)
	}
	return token, nil
}

// Sign makes a token for trying things out, with the first private key of a file: a JWK
// or a JWK set with OKP (Ed25519) or oct (HS256). The error is ErrKeys.
func Sign(keyFile string, claims map[string]any) (string, error) {
	set, err := fileSource(keyFile, forSigning).load(context.Background())
	if err != nil {
		return "", err
	}
	for _, k := range set.keys {
		if k.sign != nil {
			return sign(k, "JWT", claims)
		}
	}
	return "", fmt.Errorf("%w: %s has no private one; allowed are OKP with d, and oct", ErrKeys, keyFile)
}

// NewKeys makes a pair of keys for trying things out: Ed25519, as JWKs of the same kid. The
// public one is for those who check tokens, the private one for those who make them.
func NewKeys() (private, public []byte, err error) {
	pub, priv, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrKeys, err)
	}
	j := jwk{Kty: "OKP", Kid: rand.Text()[:12], Alg: algEdDSA, Use: "sig", Crv: "Ed25519", X: base64.RawURLEncoding.EncodeToString(pub)}
	if public, err = json.Marshal(j); err == nil {
		j.D = base64.RawURLEncoding.EncodeToString(priv.Seed())
		private, err = json.Marshal(j)
	}
	return private, public, err
}

// IsResume says whether a token says of itself that it is a resume token. It is not
// checked in any way.
func IsResume(token string) bool {
	head, _, _ := strings.Cut(token, ".")
	if len(token) > MaxToken || head == "" {
		return false
	}
	t, _, err := jwt.NewParser().ParseUnverified(head+".e30.", jwt.MapClaims{})
	if err != nil {
		return false
	}
	h, err := headerOf(t)
	return err == nil && h.typ == resumeType
}
