package auth_test

import (
	"errors"
	"testing"

	"github.com/rejoin/rejoin/internal/auth"
)

// Whatever a token is, it is accepted only if it is one that was signed.
func FuzzAuthenticate(f *testing.F) {
	ed, hs := newEd("k"), newHS("h")
	j := open(f, publicSet(ed, hs), nil)
	unnamed := open(f, ed.pem(), nil)
	r := newResume(f, auth.ResumeConfig{KeyFile: file(f, privateSet(ed))})
	good := []string{ed.good(f), hs.good(f), mint(f, r, identityOf(f, "t", "u"))}
	for _, token := range append(good, "", ".", "..", "a.b.c", b64([]byte(`{"alg":"none"}`))+"."+b64([]byte(`{}`))+".",
		ed.token(f, claims(map[string]any{"roles": []any{1, nil}}), map[string]any{"crit": 1})) {
		f.Add(token)
	}
	signed := map[string]bool{}
	for _, token := range good {
		signed[token] = true
	}
	f.Fuzz(func(t *testing.T, token string) {
		auth.IsResume(token)
		for _, check := range []func() (*auth.Identity, error){
			func() (*auth.Identity, error) { return j.Authenticate(t.Context(), token) },
			func() (*auth.Identity, error) { return unnamed.Authenticate(t.Context(), token) },
			func() (*auth.Identity, error) { return r.Verify(token) },
		} {
			id, err := check()
			switch {
			case err == nil && !signed[token]:
				t.Fatalf("accepted as %+v", id)
			case err != nil && (id != nil || !errors.Is(err, auth.ErrInvalid) && !errors.Is(err, auth.ErrNoCredential)):
				t.Fatal(id, err)
			}
		}
	})
}

func FuzzKeys(f *testing.F) {
	ed := newEd("k")
	for _, doc := range [][]byte{ed.pem(), publicSet(ed, newEC("e"), newRSA("r")), asJSON(newHS("h").jwk()), []byte("{"), nil} {
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		_, err := auth.NewJWT(auth.JWTConfig{KeyFile: file(t, doc), Issuer: issuer, Audience: audience})
		if err != nil && !errors.Is(err, auth.ErrKeys) {
			t.Fatal(err)
		}
	})
}
