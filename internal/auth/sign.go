package auth

import (
	"context"
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
