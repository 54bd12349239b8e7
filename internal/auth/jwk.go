package auth

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"

	"github.com/rejoin/rejoin/subjects"
)

// purpose is what a document's keys are for, and so which parts they may have.
type purpose int

const (
	forChecking purpose = iota // private keys are an error: they do not belong there
	forAnyone                  // the same, from a URL: secrets are not used either
	forSigning                 // private keys and secrets
)

// jwk has the members of RFC 7517, 7518 and 8037 that count here.
type jwk struct {
	Kty    string   `json:"kty"`
	Kid    string   `json:"kid,omitempty"`
	Alg    string   `json:"alg,omitempty"`
	Use    string   `json:"use,omitempty"`
	KeyOps []string `json:"key_ops,omitempty"`
	Crv    string   `json:"crv,omitempty"`
	X      string   `json:"x,omitempty"`
	Y      string   `json:"y,omitempty"`
	N      string   `json:"n,omitempty"`
	E      string   `json:"e,omitempty"`
	K      string   `json:"k,omitempty"`
	D      string   `json:"d,omitempty"`
}

// parseJWK reads one key, or a set of keys: an object with "keys". In a set, keys that
// cannot be used are passed over, as RFC 7517 wants it; those without a kid too.
func parseJWK(doc []byte, for_ purpose) (*keyset, error) {
	var in struct {
		jwk
		Keys *[]json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(doc, &in); err != nil {
		return nil, fmt.Errorf("%w: no JWK and no JWK set: %w", ErrKeys, err)
	}
	if in.Keys == nil {
		k, err := in.jwk.key(for_)
		if err != nil {
			return nil, err
		}
		return newKeyset(in.Kid != "", []*key{k}, nil)
	}
	if len(*in.Keys) > maxKeys {
		return nil, fmt.Errorf("%w: the set has %d, allowed are up to %d", ErrKeys, len(*in.Keys), maxKeys)
	}
	var keys []*key
	var skipped []string
	for i, raw := range *in.Keys {
		var one jwk
		err := json.Unmarshal(raw, &one)
		if err != nil {
			err = fmt.Errorf("%w: no JWK", ErrKeys)
		}
		if err == nil && one.D != "" && for_ != forSigning {
			return nil, one.private()
		}
		var k *key
		if err == nil {
			k, err = one.key(for_)
		}
		if err == nil && one.Kid == "" {
			err = fmt.Errorf("%w: no kid", ErrKeys)
		}
		if err != nil {
			skipped = append(skipped, fmt.Sprintf("number %d (kid %.40q): %s", i+1, one.Kid, reason(err)))
			continue
		}
		keys = append(keys, k)
	}
	return newKeyset(true, keys, skipped)
}

func (j jwk) private() error {
	return fmt.Errorf("%w: the key %.40q is a private one; only its public part belongs here", ErrKeys, j.Kid)
}

// key makes the key, if it is one that can be used for this.
func (j jwk) key(for_ purpose) (*key, error) {
	if len(j.Kid) > subjects.MaxOutside {
		return nil, fmt.Errorf("%w: a kid of %d bytes; allowed are up to %d", ErrKeys, len(j.Kid), subjects.MaxOutside)
	}
	if j.D != "" && for_ != forSigning {
		return nil, j.private()
	}
	if j.Use != "" && j.Use != "sig" {
		return nil, fmt.Errorf("%w: use is %.20q, not sig", ErrKeys, j.Use)
	}
	if len(j.KeyOps) > 0 && !slices.Contains(j.KeyOps, "verify") && !slices.Contains(j.KeyOps, "sign") {
		return nil, fmt.Errorf("%w: key_ops has neither verify nor sign", ErrKeys)
	}
	k, err := j.material(for_)
	if err != nil {
		return nil, err
	}
	if j.Alg != "" && j.Alg != k.alg && (j.Alg != "Ed25519" || k.alg != algEdDSA) { // RFC 9864's name of it
		return nil, fmt.Errorf("%w: alg is %.20q, but the key is one for %s", ErrKeys, j.Alg, k.alg)
	}
	if j.Kid != "" {
		k.id = j.Kid
	}
	return k, nil
}

func (j jwk) material(for_ purpose) (*key, error) {
	switch j.Kty {
	case "OKP":
		return j.okp()
	case "EC":
		return j.ec()
	case "RSA":
		return j.rsa()
	case "oct":
		if for_ == forAnyone {
			return nil, fmt.Errorf("%w: a secret that anybody can fetch", ErrKeys)
		}
		secret, err := decode("k", j.K)
		if err != nil {
			return nil, err
		}
		return newSecret(secret)
	}
	return nil, fmt.Errorf("%w: kty is %.20q; allowed are OKP, EC, RSA and oct", ErrKeys, j.Kty)
}

func (j jwk) okp() (*key, error) {
	if j.Crv != "Ed25519" {
		return nil, fmt.Errorf("%w: crv is %.20q; allowed with OKP is Ed25519", ErrKeys, j.Crv)
	}
	x, err := decode("x", j.X)
	if err == nil && len(x) != ed25519.PublicKeySize {
		err = fmt.Errorf("%w: x has %d bytes, not %d", ErrKeys, len(x), ed25519.PublicKeySize)
	}
	if err != nil {
		return nil, err
	}
	k, err := newKey(ed25519.PublicKey(x))
	if err != nil || j.D == "" {
		return k, err
	}
	seed, err := decode("d", j.D)
	if err == nil && len(seed) != ed25519.SeedSize {
		err = fmt.Errorf("%w: d has %d bytes, not %d", ErrKeys, len(seed), ed25519.SeedSize)
	}
	if err != nil {
		return nil, err
	}
	private := ed25519.NewKeyFromSeed(seed)
	if !bytes.Equal(private.Public().(ed25519.PublicKey), x) {
		return nil, fmt.Errorf("%w: x and d are not of the same key", ErrKeys)
	}
	k.sign = private
	return k, nil
}

func (j jwk) ec() (*key, error) {
	if j.Crv != "P-256" {
		return nil, fmt.Errorf("%w: crv is %.20q; allowed with EC is P-256", ErrKeys, j.Crv)
	}
	point := []byte{4} // uncompressed
	for _, c := range []struct{ name, value string }{{"x", j.X}, {"y", j.Y}} {
		b, err := decode(c.name, c.value)
		if err == nil && len(b) != 32 {
			err = fmt.Errorf("%w: %s has %d bytes, not 32", ErrKeys, c.name, len(b))
		}
		if err != nil {
			return nil, err
		}
		point = append(point, b...)
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		return nil, fmt.Errorf("%w: x and y are no point of P-256", ErrKeys)
	}
	return newKey(public)
}

func (j jwk) rsa() (*key, error) {
	n, err := decode("n", j.N)
	if err != nil {
		return nil, err
	}
	e, err := decode("e", j.E)
	if err != nil {
		return nil, err
	}
	exponent := new(big.Int).SetBytes(e)
	if exponent.BitLen() > 31 {
		return nil, fmt.Errorf("%w: e is larger than 31 bits", ErrKeys)
	}
	return newKey(&rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(exponent.Int64())})
}

func decode(name, value string) ([]byte, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(value)
	if err != nil || value == "" {
		return nil, fmt.Errorf("%w: %s is no base64url", ErrKeys, name)
	}
	return b, nil
}
