package auth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/auth"
)

func asJSON(v any) []byte {
	doc, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return doc
}

func certificate(t *testing.T, p pair) []byte {
	t.Helper()
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Unix(1, 0)} // its dates do not count
	der, err := x509.CreateCertificate(rand.Reader, c, c, p.public, p.sign)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestEveryFormOfKeyFile(t *testing.T) {
	t.Parallel()
	ed, rs, hs := newEd("k"), newRSA("k"), newHS("k")
	unnamed := ed.jwk()
	delete(unnamed, "kid")
	rsDER := x509.MarshalPKCS1PublicKey(rs.public.(*rsa.PublicKey))
	later := ed.jwk()
	later["alg"] = "Ed25519"
	for name, c := range map[string]struct {
		doc []byte
		by  pair
	}{
		"PEM":                      {ed.pem(), ed},
		"PEM with words around it": {append([]byte("the key of our issuer\n"), append(rs.pem(), "\nend\n"...)...), rs},
		"PKCS #1":                  {pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: rsDER}), rs},
		"certificate":              {certificate(t, ed), ed},
		"JWK":                      {append([]byte("\n "), asJSON(ed.jwk())...), ed},
		"JWK without a kid":        {asJSON(unnamed), ed},
		"JWK of a secret":          {asJSON(hs.jwk()), hs},
		"JWK set":                  {publicSet(newEC("other"), ed), ed},
		"alg by its newer name":    {set(later), ed},
		"secret":                   {hs.sign.([]byte), hs},
		"secret and a line break":  {append(hs.sign.([]byte)[:len(hs.sign.([]byte)):len(hs.sign.([]byte))], "\r\n"...), hs},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			accepted(t, open(t, c.doc, nil), c.by.good(t))
		})
	}
}

// In a set, what cannot be used does not keep the rest from being used.
func TestASetMayHaveKeysThatAreNotForUs(t *testing.T) {
	t.Parallel()
	good := newEd("good")
	with := func(change map[string]any) map[string]any {
		m := good.jwk()
		m["kid"] = "bad"
		for name, v := range change {
			m[name] = v
		}
		return m
	}
	j := open(t, asJSON(map[string]any{"keys": []any{
		with(map[string]any{"use": "enc"}), with(map[string]any{"crv": "Ed448"}), with(map[string]any{"kty": "AKP"}),
		with(map[string]any{"alg": "RS256"}), with(map[string]any{"x": "AA"}), with(map[string]any{"x": 5}), with(map[string]any{"kid": ""}),
		with(map[string]any{"key_ops": []string{"encrypt"}}), with(map[string]any{"kid": strings.Repeat("k", 300)}), 7, nil, good.jwk(),
	}}), nil)
	accepted(t, j, good.good(t))
	_, err := j.Authenticate(t.Context(), good.token(t, claims(nil), map[string]any{"kid": "bad"}))
	require.ErrorIs(t, err, auth.ErrInvalid)
}

func TestKeyFilesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	ed, rs, ec := newEd("k"), newRSA("k"), newEC("k")
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(ed.sign)
	require.NoError(t, err)
	spki, err := x509.MarshalPKIXPublicKey(ed.public)
	require.NoError(t, err)
	offCurve, short, even := ec.jwk(), rs.jwk(), rs.jwk()
	offCurve["y"] = offCurve["x"]
	short["n"] = b64(oneRSA().N.Bytes()[:128])
	even["e"] = b64([]byte{2})
	many := make([]map[string]any, 101)
	for i := range many {
		many[i] = ed.jwk()
	}
	for name, c := range map[string]struct {
		doc  []byte
		says string
	}{
		"empty":                    {nil, "nothing in it"},
		"blank":                    {[]byte(" \n"), "nothing in it"},
		"short secret":             {[]byte(strings.Repeat("x", 31) + "\n"), "31 bytes; allowed are 32"},
		"a line of words":          {[]byte("this is what somebody wrote, and no secret"), "one line without spaces"},
		"a text file":              {[]byte("all: build test\nbuild:\n\tgo build ./...\n# and more of it\n"), "one line without spaces"},
		"lines":                    {[]byte(strings.Repeat("x", 40) + "\n" + strings.Repeat("y", 40) + "\n"), "one line without spaces"},
		"two breaks at the end":    {[]byte(strings.Repeat("x", 40) + "\n\n"), "one line without spaces"},
		"long text":                {[]byte(strings.Repeat("word ", 2000)), "one line without spaces"},
		"long secret":              {[]byte(strings.Repeat("x", 5000)), "allowed are 32 to 4096"},
		"private PEM":              {pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), "private"},
		"private among public PEM": {append(ed.pem(), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: []byte("x")})...), "private"},
		"private JWK":              {asJSON(ed.private()), `"k" is a private one`},
		"private in a set":         {set(newEd("a").jwk(), ed.private()), `"k" is a private one`},
		"other PEM":                {pem.EncodeToMemory(&pem.Block{Type: "DH PARAMETERS", Bytes: []byte("x")}), "allowed are PUBLIC KEY"},
		"broken PEM":               {append(ed.pem(), "-----BEGIN PUBLIC KEY-----\nxx"...), "block number 2 is malformed"},
		"PEM of nothing":           {pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte("x")}), "PUBLIC KEY"},
		"P-384":                    {pair{"", nil, nil, &p384.PublicKey}.pem(), "allowed is P-256"},
		"no point":                 {asJSON(offCurve), "no point"},
		"short RSA":                {asJSON(short), "1024 bits"},
		"RSA with an even e":       {asJSON(even), "exponent"},
		"broken JSON":              {[]byte(`{"keys":[`), "no JWK"},
		"another object":           {[]byte(`{"issuer":"x"}`), "kty"},
		"empty set":                {set(), "has none"},
		"nothing usable":           {set(map[string]any{"kty": "x", "kid": "a"}), "none of them can be used: number 1"},
		"too many":                 {set(many...), "allowed are up to 100"},
		"too many unnamed":         {[]byte(strings.Repeat(string(ed.pem()), 17)), "allowed are up to 16"},
		"too large":                {[]byte("{" + strings.Repeat(" ", 300<<10) + "}"), "larger than"},
		"JSON array":               {append([]byte("["), append(asJSON(ed.jwk()), ']')...), "array"},
		// Public, and as long as a secret: whoever knows it could sign.
		"DER":           {spki, "DER"},
		"DER in base64": {[]byte(base64.StdEncoding.EncodeToString(spki)), "DER"},
		"PEM in base64": {[]byte(base64.StdEncoding.EncodeToString(ed.pem())), "base64"},
		"SSH":           {[]byte("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGx ann@example"), "SSH"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := auth.NewJWT(auth.JWTConfig{KeyFile: file(t, c.doc), Issuer: issuer, Audience: audience})
			require.ErrorIs(t, err, auth.ErrKeys)
			require.ErrorContains(t, err, c.says)
		})
	}
	for _, path := range []string{filepath.Join(t.TempDir(), "missing"), t.TempDir()} {
		_, err := auth.NewJWT(auth.JWTConfig{KeyFile: path, Issuer: issuer, Audience: audience})
		require.ErrorIs(t, err, auth.ErrKeys)
	}
}

func TestConfigurationsThatCannotWork(t *testing.T) {
	t.Parallel()
	good := auth.JWTConfig{KeyFile: file(t, newEd("k").pem()), Issuer: issuer, Audience: audience}
	for says, change := range map[string]func(*auth.JWTConfig){
		"KeyFile or JWKSURL":    func(c *auth.JWTConfig) { c.KeyFile = "" },
		"not both":              func(c *auth.JWTConfig) { c.JWKSURL = "https://x" },
		"Issuer is required":    func(c *auth.JWTConfig) { c.Issuer = "" },
		"Audience is required":  func(c *auth.JWTConfig) { c.Audience = "" },
		"that of resume tokens": func(c *auth.JWTConfig) { c.Audience = "urn:rejoin:resume" },
		"negative":              func(c *auth.JWTConfig) { c.Leeway = -1 },
		"no URL":                func(c *auth.JWTConfig) { c.KeyFile, c.JWKSURL = "", "ftp://x" },
		"on the way":            func(c *auth.JWTConfig) { c.KeyFile, c.JWKSURL = "", "http://issuer.example/keys" },
	} {
		c := good
		change(&c)
		_, err := auth.NewJWT(c)
		require.ErrorIs(t, err, auth.ErrConfig, says)
		require.ErrorContains(t, err, says)
	}
	for _, url := range []string{"http://127.0.0.1:9/keys", "http://localhost/keys", "http://[::1]/keys", "https://issuer.example/keys"} {
		_, err := auth.NewJWT(auth.JWTConfig{JWKSURL: url, Issuer: issuer, Audience: audience})
		require.NoError(t, err, url)
	}
}

// A file is read again while Run runs: a key that is gone from it takes its tokens along,
// and a broken file changes nothing.
func TestKeysInAFileRotate(t *testing.T) {
	t.Parallel()
	old, next := newEd("a"), newEd("b")
	path := file(t, publicSet(old))
	j, err := auth.NewJWT(auth.JWTConfig{KeyFile: path, Issuer: issuer, Audience: audience, Refresh: time.Millisecond, MinRefresh: time.Millisecond})
	require.NoError(t, err)
	stop := running(t, j.Run)
	defer stop()
	first := accepted(t, j, old.good(t))

	replace(t, path, publicSet(old, next))
	require.Eventually(t, func() bool {
		_, err := j.Authenticate(t.Context(), next.good(t))
		return err == nil
	}, time.Minute, time.Millisecond)
	second := accepted(t, j, next.good(t))
	require.True(t, j.Valid(first))

	replace(t, path, publicSet(next))
	require.Eventually(t, func() bool { return !j.Valid(first) }, time.Minute, time.Millisecond)
	require.True(t, j.Valid(second))
	_, err = j.Authenticate(t.Context(), old.good(t))
	require.ErrorIs(t, err, auth.ErrInvalid)

	replace(t, path, []byte("{"))
	require.Eventually(t, func() bool { // a failed attempt has been made
		_, err := j.Authenticate(t.Context(), old.good(t))
		return err != nil && strings.Contains(err.Error(), auth.ErrUnavailable.Error())
	}, time.Minute, time.Millisecond)
	require.True(t, j.Valid(second), "the last good set stays")

	// The same name for another key is another key.
	replace(t, path, publicSet(newEd("b")))
	require.Eventually(t, func() bool { return !j.Valid(second) }, time.Minute, time.Millisecond)
}
