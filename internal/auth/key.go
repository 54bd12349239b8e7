package auth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"
)

// The algorithms that are accepted. Each key is good for exactly one of them, which
// its type decides and never a token.
const (
	algEdDSA = "EdDSA"
	algES256 = "ES256"
	algRS256 = "RS256"
	algHS256 = "HS256"
)

var algorithms = []string{algEdDSA, algES256, algRS256, algHS256}

const (
	// minSecret is the shortest secret for HS256, in bytes: that of its hash.
	minSecret = 32
	maxSecret = 4 << 10

	// Moduli in bits: shorter ones can be factored, and longer ones would make a
	// single token expensive.
	minRSA = 2048
	maxRSA = 8192

	// maxKeys bounds a document; maxUnnamed one whose keys tokens do not name, where
	// each may have to be tried.
	maxKeys    = 100
	maxUnnamed = 16
)

// key is one key and the one algorithm it is good for.
type key struct {
	id     string // as tokens name it; made of the key where they do not
	alg    string
	public any    // what checks a signature; for HS256 the secret itself
	sign   any    // what makes one; nil where only the public part is known
	print  string // identifies the key itself, whatever it is called
}

// newKey binds a public key to its algorithm.
func newKey(public any) (*key, error) {
	k := &key{public: public}
	switch p := public.(type) {
	case ed25519.PublicKey:
		k.alg = algEdDSA
	case *ecdsa.PublicKey:
		if p.Curve != elliptic.P256() {
			return nil, fmt.Errorf("%w: an elliptic curve that is not supported; allowed is P-256", ErrKeys)
		}
		k.alg = algES256
	case *rsa.PublicKey:
		if n := p.N.BitLen(); n < minRSA || n > maxRSA {
			return nil, fmt.Errorf("%w: an RSA key of %d bits; allowed are %d to %d", ErrKeys, n, minRSA, maxRSA)
		}
		if p.E < 3 || p.E%2 == 0 {
			return nil, fmt.Errorf("%w: an RSA key whose exponent is %d", ErrKeys, p.E)
		}
		k.alg = algRS256
	default:
		return nil, fmt.Errorf("%w: a key of a kind that is not supported; allowed are Ed25519, P-256 and RSA", ErrKeys)
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKeys, err)
	}
	k.print = printOf(k.alg, der)
	k.id = k.print
	return k, nil
}

// newSecret makes a key for HS256.
func newSecret(secret []byte) (*key, error) {
	if n := len(secret); n < minSecret || n > maxSecret {
		return nil, fmt.Errorf("%w: a secret of %d bytes; allowed are %d to %d", ErrKeys, n, minSecret, maxSecret)
	}
	// Its name says nothing of it.
	return &key{id: "secret", alg: algHS256, public: secret, sign: secret, print: printOf(algHS256, secret)}, nil
}

func printOf(alg string, material []byte) string {
	h := sha256.New()
	h.Write([]byte(alg + "\n"))
	h.Write(material)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}
