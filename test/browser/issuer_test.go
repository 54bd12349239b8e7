package browser_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/auth"
)

const (
	issuerName = "https://issuer.example"
	audience   = "rejoin"
)

// issuer makes tokens that the authenticator takes.
type issuer struct {
	*testing.T
	private string // a file
	auth.Authenticator
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	private, public, err := auth.NewKeys()
	require.NoError(t, err)
	i := &issuer{T: t, private: filepath.Join(t.TempDir(), "private.jwk")}
	require.NoError(t, os.WriteFile(i.private, private, 0o600))
	file := filepath.Join(t.TempDir(), "public.jwk")
	require.NoError(t, os.WriteFile(file, public, 0o600))
	checked, err := auth.NewJWT(auth.JWTConfig{KeyFile: file, Issuer: issuerName, Audience: audience})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		checked.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	i.Authenticator = checked
	return i
}

// user is whose tokens are made.
const user = "ann"

// token is good for so long, or was good until so long ago.
func (i *issuer) token(ttl time.Duration) string {
	i.Helper()
	token, err := auth.Sign(i.private, map[string]any{"iss": issuerName, "aud": audience, "sub": user,
		"exp": float64(time.Now().Add(ttl).UnixMilli()) / 1000})
	require.NoError(i, err)
	return token
}
