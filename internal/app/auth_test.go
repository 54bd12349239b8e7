package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/auth"
)

// Where nobody is authenticated, only this machine may come in, unless somebody has said
// that it is meant otherwise.
func TestEverybodyIsLetInOnlyFromThisMachine(t *testing.T) {
	t.Parallel()
	for addr, inside := range map[string]bool{
		"127.0.0.1:0": true, "127.9.9.9:80": true, "localhost:8080": true, "[::1]:8080": true, "[::ffff:127.0.0.1]:80": true,
		":8080": false, "0.0.0.0:8080": false, "[::]:8080": false, "10.0.0.1:80": false, "example.com:80": false,
		"127.0.0.1.example.com:80": false, "localhost.example.com:80": false, "Localhost:80": false, "nowhere": false,
	} {
		_, err := app.New(app.Config{Addr: addr})
		if inside {
			require.NoError(t, err, addr)
			continue
		}
		require.ErrorIs(t, err, app.ErrOpen, addr)
		for _, c := range []app.AuthConfig{{Insecure: true}, {Kind: app.AuthJWT}} {
			_, err = app.New(app.Config{Addr: addr, Auth: c})
			require.NoError(t, err, addr)
		}
	}
	// The embedded broker asks nobody who they are, whatever the relay asks.
	for addr, inside := range map[string]bool{"": true, "127.0.0.1:0": true, "localhost:4222": true, ":4222": false, "0.0.0.0:0": false, "[::]:0": false} {
		for _, c := range []app.AuthConfig{{}, {Kind: app.AuthJWT}} {
			_, err := app.New(app.Config{Addr: "127.0.0.1:0", NATSAddr: addr, Auth: c})
			if inside {
				require.NoError(t, err, addr)
				continue
			}
			require.ErrorIs(t, err, app.ErrOpen, addr)
			c.Insecure = true
			_, err = app.New(app.Config{Addr: "127.0.0.1:0", NATSAddr: addr, Auth: c})
			require.NoError(t, err, addr)
		}
	}
	_, err := app.New(app.Config{Auth: app.AuthConfig{Kind: "basic"}})
	require.ErrorIs(t, err, app.ErrConfig)
	require.ErrorContains(t, err, "allowed are none and jwt")
}

func TestKeysThatCannotBeUsedAreSaidAtOnce(t *testing.T) {
	t.Parallel()
	jwt := auth.JWTConfig{KeyFile: "/nowhere/at/all", Issuer: "i", Audience: "a"}
	for want, c := range map[error]app.AuthConfig{
		app.ErrAuth:   {Kind: app.AuthJWT, JWT: jwt},
		app.ErrResume: {Resume: auth.ResumeConfig{KeyFile: "/nowhere/at/all"}},
	} {
		a, err := app.New(app.Config{Addr: "127.0.0.1:0", Auth: c})
		require.NoError(t, err)
		err = a.Run(t.Context())
		require.ErrorIs(t, err, want)
		require.ErrorContains(t, err, "/nowhere/at/all")
	}
}
