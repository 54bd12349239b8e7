package auth

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// errUnknownKey is within an ErrInvalid: no key has the name that the token gives.
var errUnknownKey = errors.New("its key is not known")

// refusal is an ErrInvalid with a reason, which is never made of the token itself.
func refusal(why string) error { return fmt.Errorf("%w: %s", ErrInvalid, why) }

// reason is err without the sentinel it begins with.
func reason(err error) string { return strings.TrimPrefix(err.Error(), ErrKeys.Error()+": ") }

// header is what counts of a token's header. Keys that it brings along, or says where
// to fetch (jwk, jku, x5c, x5u), are never looked at.
type header struct {
	alg, kid, typ string
	token         *jwt.Token
}

// parse checks size, form, signature and the standard claims of a token; find gives the
// key by which it is judged.
func parse(p *jwt.Parser, token string, find func(header) (*key, error)) (jwt.MapClaims, error) {
	switch {
	case token == "":
		return nil, ErrNoCredential
	case len(token) > MaxToken:
		return nil, refusal(fmt.Sprintf("it is longer than %d bytes", MaxToken))
	case strings.ContainsAny(token, "\r\n"): // base64 as it is decoded in Go passes over them
		return nil, refusal("it is malformed")
	}
	claims := jwt.MapClaims{}
	var refused error
	_, err := p.ParseWithClaims(token, claims, func(t *jwt.Token) (any, error) {
		h, err := headerOf(t)
		if err == nil {
			var k *key
			if k, err = find(h); err == nil {
				return k.public, nil
			}
		}
		refused = err
		return nil, err
	})
	switch {
	case err == nil:
		return claims, checkTimes(claims)
	case refused != nil:
		return nil, refused
	}
	if err = refusalOf(err); errors.Is(err, ErrExpired) {
		return nil, cmp.Or(checkTimes(claims), err)
	}
	return nil, err
}

func headerOf(t *jwt.Token) (header, error) {
	h := header{alg: t.Method.Alg(), token: t}
	if _, has := t.Header["crit"]; has { // RFC 7515, 4.1.11: what is not understood is refused
		return h, refusal("its header has crit")
	}
	for _, f := range []struct {
		name string
		to   *string
	}{{"kid", &h.kid}, {"typ", &h.typ}} {
		v, has := t.Header[f.name]
		s, ok := v.(string)
		if has && !ok {
			return h, refusal("its header's " + f.name + " is no string")
		}
		*f.to = s
	}
	h.typ = strings.TrimPrefix(strings.ToLower(h.typ), "application/")
	return h, nil
}

// find is the key that a token is to be judged by. s may be nil: nothing is known yet.
func (s *keyset) find(h header) (*key, error) {
	if s == nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, errUnknownKey)
	}
	if s.named && h.kid == "" {
		return nil, refusal("it names no key (kid)")
	}
	keys, known := s.candidates(h.kid, h.alg)
	switch {
	case !known && s.named:
		return nil, fmt.Errorf("%w: %w", ErrInvalid, errUnknownKey)
	case len(keys) == 0:
		return nil, refusal("its key is not one for its alg")
	case len(keys) == 1:
		return keys[0], nil
	}
	// Which of several it was must be known, since one of them may be withdrawn.
	signed := h.token.Raw[:strings.LastIndexByte(h.token.Raw, '.')]
	for _, k := range keys {
		if h.token.Method.Verify(signed, h.token.Signature, k.public) == nil {
			return k, nil
		}
	}
	return nil, refusal("its signature is wrong")
}

// refusals are the library's errors, in the order in which they count, and our words for
// them. Its own texts may repeat parts of the token.
var refusals = []struct {
	err error
	why string
}{
	{jwt.ErrTokenMalformed, "it is malformed"},
	{jwt.ErrTokenUnverifiable, "its alg is not accepted"},
	{jwt.ErrTokenSignatureInvalid, "its signature or its alg is wrong"},
	{jwt.ErrInvalidType, "a claim is of the wrong type"},
	{jwt.ErrTokenInvalidIssuer, "it is from another issuer"},
	{jwt.ErrTokenInvalidAudience, "it is for another audience"},
	{jwt.ErrTokenRequiredClaimMissing, "exp, iss, aud or sub is missing"},
	{jwt.ErrTokenNotValidYet, "it is not valid yet"},
	{jwt.ErrTokenUsedBeforeIssued, "it is from the future"},
}

func refusalOf(err error) error {
	for _, r := range refusals {
		if errors.Is(err, r.err) {
			return refusal(r.why)
		}
	}
	if errors.Is(err, jwt.ErrTokenExpired) { // and nothing else is wrong
		return ErrExpired
	}
	return refusal("it is not accepted")
}

// maxTime is the end of the year 9999; numbers beyond do not fit what they are turned to.
var maxTime = float64(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).Unix())

func checkTimes(c jwt.MapClaims) error {
	for _, name := range []string{"exp", "nbf", "iat"} {
		if n, has := c[name].(float64); has && (n < 0 || n > maxTime) {
			return refusal(name + " is out of range")
		}
	}
	return nil
}
