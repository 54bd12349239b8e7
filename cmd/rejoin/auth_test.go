package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/auth"
)

const aboutTokens = "--jwt-issuer me --jwt-audience rejoin"

// keys makes a pair of keys as a user would; the file with the private one.
func keys(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dev.jwk")
	got := called(t.Context(), nil, "token", "--new-key", path)
	require.Zero(t, got.code, got.err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077, "it is nobody else's business")
	return path
}

func token(t *testing.T, key, sub string, more ...string) string {
	t.Helper()
	args := append([]string{"token", "--key", key, "--sub", sub}, strings.Fields(aboutTokens)...)
	got := called(t.Context(), nil, append(args, more...)...)
	require.Zero(t, got.code, got.err)
	return strings.TrimSpace(got.out)
}

// devJWT is dev with --auth jwt.
func devJWT(t *testing.T, key string) *app.App {
	t.Helper()
	return dev(t, app.Config{Auth: app.AuthConfig{Kind: app.AuthJWT,
		JWT: auth.JWTConfig{KeyFile: key + ".pub", Issuer: "me", Audience: "rejoin", TenantClaim: "org"}}})
}

const hintToken = "; --token (REJOIN_TOKEN) or --token-file (REJOIN_TOKEN_FILE) says"

func TestCommandsCallWithAToken(t *testing.T) {
	t.Parallel()
	key := keys(t)
	url := devJWT(t, key).URL()
	org := []string{"--jwt-tenant-claim", "org", "--tenant", "acme"}
	producer := token(t, key, "svc", append(org, "--roles", "producer")...)
	ann := token(t, key, "ann", org...)

	got := called(t.Context(), strings.NewReader(deltas(1, 3)), "publish", "--url", url, "--chat", "c")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.err, "unauthenticated")
	require.Contains(t, got.err, hintToken)

	got = called(t.Context(), strings.NewReader(deltas(1, 3)), "publish", "--url", url, "--chat", "c", "--owner", "ann", "--token", producer)
	require.Zero(t, got.code, got.err)
	id := strings.TrimSpace(got.out)

	file := filepath.Join(t.TempDir(), "token")
	tail := []string{"tail", "--url", url, "--chat", "c", "--run", id, "--folded", "--token-file", file}
	got = called(t.Context(), nil, tail...)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.err, "no such file")
	for user, want := range map[string]int{"ann": exitUnsaved, "bob": exitFailed} {
		require.NoError(t, os.WriteFile(file, []byte(token(t, key, user, org...)+"\n"), 0o600))
		got = called(t.Context(), nil, tail...)
		require.Equal(t, want, got.code, got.err)
		require.Equal(t, user == "ann", got.out == folded(3))
	}
	got = called(t.Context(), nil, "tail", "--url", url, "--chat", "c", "--token", token(t, key, "ann"))
	require.Equal(t, exitFailed, got.code, "it names no tenant")
	require.Contains(t, got.err, "401")
	require.Contains(t, got.err, hintToken)
	require.NotContains(t, got.err, ann)

	got = called(t.Context(), nil, "probe", "--url", url)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.out, url+" could not be checked: HTTP 401")
	require.Contains(t, got.out, hintToken)
	got = called(t.Context(), nil, "probe", "--url", url, "--token", ann)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.out, url+" could not be checked: HTTP 403")
	require.NotContains(t, got.out, hintToken)

	probe := called(t.Context(), nil, "probe", "--url", url, "--events", "12", "--rate", "100", "--token", token(t, key, "probe", append(org, "--roles", "producer,observer")...))
	require.Zero(t, probe.code, probe.out)
}

func TestAFreshTokenIsReadFromItsFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	read := credential{file: file}.read
	for _, want := range []string{"one", "two"} {
		require.NoError(t, os.WriteFile(file, []byte(" "+want+"\r\n"), 0o600))
		got, err := read(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, bad := range []string{"", "two words", "é", strings.Repeat("x", maxTokenFile+1)} {
		require.NoError(t, os.WriteFile(file, []byte(bad), 0o600))
		_, err := read(t.Context())
		require.ErrorContains(t, err, file)
	}
}

func TestFlagsOfAuthThatDoNotFit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args string
		says []string
	}{
		{"dev --addr :0", []string{"--addr is :0", "--auth jwt", "127.0.0.1", "--insecure"}},
		{"dev --addr 0.0.0.0:0", []string{"--insecure"}},
		{"dev --nats-addr 0.0.0.0:0", []string{"--nats-addr is 0.0.0.0:0", "127.0.0.1:4222", "--insecure"}},
		{"dev --auth jwt --jwt-keys f --jwt-issuer i --jwt-audience a --nats-addr :0", []string{"--nats-addr is :0", "--insecure"}},
		{"relay --nats nats://h --addr 10.0.0.1:80", []string{"--insecure"}},
		{"dev --auth basic", []string{"one of none, jwt"}},
		{"dev --jwt-issuer x", []string{"--jwt-issuer needs --auth jwt"}},
		{"dev --auth jwt", []string{"--jwt-keys or --jwks-url"}},
		{"dev --auth jwt --jwt-keys f --jwks-url https://x/", []string{"not both"}},
		{"dev --auth jwt --jwt-keys f", []string{"--jwt-issuer and --jwt-audience"}},
		{"dev --resume-ttl 1ms", []string{"a time from 1s"}},
		{"dev --auth jwt --jwks-url file:///x", []string{"a URL such as https://"}},
		{"tail --chat c --token a --token-file f", []string{"exclude each other"}},
		{"token", []string{"--new-key or --key"}},
		{"token --key f", []string{"--sub is missing"}},
		{"token --key f --sub a", []string{"--jwt-issuer and --jwt-audience"}},
		{"token --key f --sub a --tenant t " + aboutTokens, []string{"--jwt-tenant-claim"}},
		{"token --key f --sub a --roles root " + aboutTokens, []string{"observer, producer and admin"}},
	} {
		got := called(t.Context(), nil, strings.Fields(c.args)...)
		require.Equal(t, exitUsage, got.code, c.args)
		for _, s := range c.says {
			require.Contains(t, got.err, s, c.args)
		}
	}
	const secret = "not a token, but secret"
	got := called(t.Context(), nil, "tail", "--chat", "c", "--token", secret)
	require.Equal(t, exitUsage, got.code)
	require.NotContains(t, got.err, "secret")

	key := keys(t)
	got = called(t.Context(), nil, "token", "--new-key", key)
	require.Equal(t, exitFailed, got.code, "it overwrites nothing")
	got = called(t.Context(), nil, append(strings.Fields("token --sub ann "+aboutTokens), "--key", key+".pub")...)
	require.Contains(t, got.err, "no private one")
}
