package auth

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// parseKeys reads a document with keys. What it is shows in how it begins: "{" is a JWK
// or a JWK set, "-----BEGIN" somewhere is PEM, and anything else is a secret for HS256,
// all of it but one line break at the end. What looks like a public key in another form
// is refused, since everybody who knows it could sign with it otherwise; so is a text of
// several words or lines, which is a file given by mistake.
func parseKeys(doc []byte, for_ purpose) (*keyset, error) {
	trimmed := bytes.TrimSpace(doc)
	switch {
	case len(trimmed) == 0:
		return nil, fmt.Errorf("%w: there is nothing in it", ErrKeys)
	case trimmed[0] == '{':
		return parseJWK(trimmed, for_)
	case for_ != forChecking:
		return nil, fmt.Errorf("%w: no JWK and no JWK set: it does not begin with {", ErrKeys)
	case bytes.Contains(doc, []byte("-----BEGIN")):
		return parsePEM(doc)
	}
	if form := publicForm(trimmed); form != "" {
		return nil, fmt.Errorf("%w: this is %s; allowed are PEM, a JWK, a JWK set, or a secret", ErrKeys, form)
	}
	secret := withoutBreak(doc)
	if isProse(secret) {
		return nil, fmt.Errorf("%w: this is a text with spaces or several lines, which is no secret; allowed are PEM, a JWK, a JWK set, "+
			"or a secret, which is one line without spaces", ErrKeys)
	}
	k, err := newSecret(secret)
	if err != nil {
		return nil, err
	}
	set, err := newKeyset(false, []*key{k}, nil)
	if err == nil {
		set.plain = len(secret)
	}
	return set, err
}

// isProse says whether a document is text with white space in it. Random bytes, which may
// have any byte among them, are no text.
func isProse(doc []byte) bool {
	return utf8.Valid(doc) && bytes.ContainsFunc(doc, unicode.IsSpace)
}

// parsePEM reads public keys and certificates. Of a certificate the key counts, and
// neither its dates nor who signed it.
func parsePEM(doc []byte) (*keyset, error) {
	var keys []*key
	for {
		var block *pem.Block
		if block, doc = pem.Decode(doc); block == nil {
			break
		}
		public, err := fromPEM(block)
		if err != nil {
			return nil, err
		}
		k, err := newKey(public)
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
		if len(keys) > maxUnnamed {
			break // newKeyset says so
		}
	}
	if bytes.Contains(doc, []byte("-----BEGIN")) && len(keys) <= maxUnnamed {
		return nil, fmt.Errorf("%w: the PEM block number %d is malformed", ErrKeys, len(keys)+1)
	}
	return newKeyset(false, keys, nil)
}

func fromPEM(block *pem.Block) (any, error) {
	var public any
	var err error
	switch {
	case block.Type == "PUBLIC KEY":
		public, err = x509.ParsePKIXPublicKey(block.Bytes)
	case block.Type == "RSA PUBLIC KEY":
		public, err = x509.ParsePKCS1PublicKey(block.Bytes)
	case block.Type == "CERTIFICATE":
		var cert *x509.Certificate
		if cert, err = x509.ParseCertificate(block.Bytes); err == nil {
			public = cert.PublicKey
		}
	case strings.HasSuffix(block.Type, "PRIVATE KEY"):
		return nil, fmt.Errorf("%w: a private key is in it; only its public part belongs here", ErrKeys)
	default:
		return nil, fmt.Errorf("%w: a PEM block %.40q; allowed are PUBLIC KEY, RSA PUBLIC KEY and CERTIFICATE", ErrKeys, block.Type)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the PEM block %s: %w", ErrKeys, block.Type, err)
	}
	return public, nil
}

// publicForm names the form of a document that is public although it is no PEM; "" for
// one that may be a secret.
func publicForm(doc []byte) string {
	for _, kind := range []string{"ssh-", "ecdsa-", "sk-ssh-", "sk-ecdsa-"} {
		if bytes.HasPrefix(doc, []byte(kind)) {
			return "a key for SSH"
		}
	}
	compact := bytes.Join(bytes.Fields(doc), nil)
	for _, der := range [][]byte{doc, decoded(base64.StdEncoding, compact), decoded(base64.RawURLEncoding, compact)} {
		if isDER(der) {
			return "a key in DER"
		}
		if len(der) > 0 && bytes.HasPrefix(bytes.TrimSpace(der), []byte("-----BEGIN")) {
			return "a key in base64"
		}
	}
	if doc[0] == '[' {
		return "a JSON array"
	}
	return ""
}

func isDER(b []byte) bool {
	if len(b) == 0 || b[0] != 0x30 {
		return false
	}
	_, pkix := x509.ParsePKIXPublicKey(b)
	_, pkcs1 := x509.ParsePKCS1PublicKey(b)
	_, cert := x509.ParseCertificate(b)
	_, pkcs8 := x509.ParsePKCS8PrivateKey(b)
	return pkix == nil || pkcs1 == nil || cert == nil || pkcs8 == nil
}

func decoded(enc *base64.Encoding, s []byte) []byte {
	out, err := enc.DecodeString(string(s))
	if err != nil {
		return nil
	}
	return out
}

// withoutBreak takes off the one line break that editors put at the end of a file.
func withoutBreak(b []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r"))
}
