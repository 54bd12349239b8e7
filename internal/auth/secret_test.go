package auth_test

import (
	"crypto/rand"
	"log/slog"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/auth"
)

// Random bytes may have those of blanks and line breaks among them.
func TestASecretOfRandomBytes(t *testing.T) {
	t.Parallel()
	secret := append([]byte(rand.Text()+" \n\r\t"), 0xff, 0, 0x80, 7)
	by := pair{"k", jwt.SigningMethodHS256, secret, secret}
	accepted(t, open(t, secret, nil), by.good(t))
}

// A secret is named as what it is, in case that the file was meant to be another, and
// never shown.
func TestTheLogSaysWhatAFileIsTakenFor(t *testing.T) {
	t.Parallel()
	secret := rand.Text() + rand.Text()
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, nil))
	open(t, []byte(secret+"\n"), func(c *auth.JWTConfig) { c.Logger = logger })
	require.Contains(t, log.String(), "keys for tokens: the file is taken as an HS256 secret")
	require.Contains(t, log.String(), "bytes=52")
	require.NotContains(t, log.String(), secret)

	log.Reset()
	open(t, newEd("k").pem(), func(c *auth.JWTConfig) { c.Logger = logger })
	require.Contains(t, log.String(), `msg="keys for tokens"`)

	log.Reset()
	_, err := auth.NewResume(auth.ResumeConfig{KeyFile: file(t, set(newEd("k").private())), Logger: logger})
	require.NoError(t, err)
	require.Contains(t, log.String(), `msg="keys for resume tokens"`)

	log.Reset()
	_, err = auth.NewResume(auth.ResumeConfig{Logger: logger})
	require.NoError(t, err)
	require.Empty(t, log.String(), "nobody is authenticated")
	_, err = auth.NewResume(auth.ResumeConfig{Logger: logger, Callers: open(t, newEd("k").pem(), nil)})
	require.NoError(t, err)
	require.Contains(t, log.String(), "a key of this process alone")
}
