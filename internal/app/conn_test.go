package app_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/natsd"
)

// files writes files into a directory of the test's and gives their paths.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// authority signs certificates for this machine.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	a := &authority{t: t, key: key}
	a.cert = a.sign(&x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil, &key.PublicKey)
	return a
}

func (a *authority) sign(c, parent *x509.Certificate, public *ecdsa.PublicKey) *x509.Certificate {
	a.t.Helper()
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	if parent == nil {
		parent = c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, public, a.key)
	require.NoError(a.t, err)
	made, err := x509.ParseCertificate(der)
	require.NoError(a.t, err)
	return made
}

func (a *authority) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}))
}

// pair is a certificate for 127.0.0.1, and its key, as PEM.
func (a *authority) pair() (cert, key string) {
	a.t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	c := a.sign(&x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "peer"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}, a.cert, &k.PublicKey)
	der, err := x509.MarshalECPrivateKey(k)
	require.NoError(a.t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})),
		string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
}

// reach says whether a fabric is made with a configuration, as every command connects.
func reach(t *testing.T, cfg app.Config) error {
	t.Helper()
	if cfg.Connect == 0 {
		cfg.Connect = patience
	}
	cfg.Partitions = 1
	_, err := app.Init(t.Context(), cfg, false)
	return err
}

func broker(t *testing.T, tune func(*server.Options)) string {
	t.Helper()
	b, err := natsd.Start(natsd.Config{Listen: "127.0.0.1:0", Tune: tune})
	require.NoError(t, err)
	t.Cleanup(b.Shutdown)
	return b.ClientURL()
}

// TLS, with a certificate of the client's, also where the server says nothing before it.
func TestItConnectsWithTLS(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	cert, key := a.pair()
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	for _, first := range []bool{false, true} {
		url := broker(t, func(o *server.Options) {
			o.TLS, o.TLSVerify, o.TLSTimeout, o.TLSHandshakeFirst = true, true, 10, first
			o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool,
				ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12}
		})
		mine, mineKey := a.pair()
		conn := app.ConnConfig{CA: file(t, "ca.pem", a.pem()), Cert: file(t, "cert.pem", mine), Key: file(t, "key.pem", mineKey), TLSFirst: first}
		require.NoError(t, reach(t, app.Config{NATS: url, Conn: conn}))
		conn.CA = ""
		err := reach(t, app.Config{NATS: url, Conn: conn, Connect: 3 * time.Second})
		require.ErrorIs(t, err, app.ErrBroker)
		require.ErrorContains(t, err, "unknown authority")
	}
}

func seed(t *testing.T) (seed, public string) {
	t.Helper()
	pair, err := nkeys.CreateUser()
	require.NoError(t, err)
	s, err := pair.Seed()
	require.NoError(t, err)
	public, err = pair.PublicKey()
	require.NoError(t, err)
	return string(s), public
}

// An nkey, and an inbox of one's own, without which no answer is received.
func TestItConnectsWithAnNKeyAndItsOwnInbox(t *testing.T) {
	t.Parallel()
	secret, public := seed(t)
	url := broker(t, func(o *server.Options) {
		o.Nkeys = []*server.NkeyUser{{Nkey: public, Permissions: &server.Permissions{
			Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX_me.>"}}}}}
	})
	conn := app.ConnConfig{NKey: file(t, "me.nk", secret+"\n"), InboxPrefix: "_INBOX_me"}
	require.NoError(t, reach(t, app.Config{NATS: url, Conn: conn}))
	other, _ := seed(t)
	conn.NKey = file(t, "other.nk", other)
	err := reach(t, app.Config{NATS: url, Conn: conn, Connect: time.Hour})
	require.ErrorIs(t, err, app.ErrBroker, "and it does not wait for that to change")
	require.NotContains(t, err.Error(), other)
}

// context writes a context of the nats command.
func natsContext(t *testing.T, fields map[string]any) string {
	t.Helper()
	fields["description"], fields["color_scheme"], fields["of_tomorrow"] = "test", "", map[string]any{"x": 1}
	text, err := json.Marshal(fields)
	require.NoError(t, err)
	return file(t, "context.json", string(text))
}

// A context says all of it; what is said besides wins.
func TestItConnectsAsAContextSays(t *testing.T) {
	t.Parallel()
	secret, public := seed(t)
	url := broker(t, func(o *server.Options) {
		o.Nkeys = []*server.NkeyUser{{Nkey: public}}
		o.Users = []*server.User{{Username: "u", Password: "p", Permissions: &server.Permissions{
			Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX_u.>"}}}}}
		o.Tags = []string{"x"}
	})
	user := map[string]any{"url": url, "user": "u", "password": "p", "inbox_prefix": "_INBOX_u"}
	require.NoError(t, reach(t, app.Config{Conn: app.ConnConfig{Context: natsContext(t, user)}}))
	require.NoError(t, reach(t, app.Config{Conn: app.ConnConfig{Context: natsContext(t, map[string]any{"url": url, "nkey": file(t, "me.nk", secret)})}}))

	// A flag for who connects takes the place of whatever the context says of that.
	user["password"] = "wrong"
	wrong := natsContext(t, user)
	require.ErrorIs(t, reach(t, app.Config{Conn: app.ConnConfig{Context: wrong}}), app.ErrBroker)
	require.NoError(t, reach(t, app.Config{Conn: app.ConnConfig{Context: wrong, NKey: file(t, "me.nk", secret)}}))
	require.NoError(t, reach(t, app.Config{NATS: strings.Replace(url, "nats://", "nats://u:p@", 1), Conn: app.ConnConfig{Context: wrong}}))
	err := reach(t, app.Config{NATS: "nats://127.0.0.1:1", Conn: app.ConnConfig{Context: wrong}, Connect: time.Millisecond})
	require.ErrorContains(t, err, "broker at nats://127.0.0.1:1:")
	user["jetstream_domain"], user["password"] = "elsewhere", "p"
	err = reach(t, app.Config{Conn: app.ConnConfig{Context: natsContext(t, user)}, Connect: time.Second})
	require.ErrorIs(t, err, app.ErrBroker, "nobody serves that domain")
}

// A context is found by its name where the nats command keeps it.
func TestAContextHasAName(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	url := broker(t, nil)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "nats", "context"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "nats", "context", "here.json"), []byte(`{"url":"`+url+`"}`), 0o600))
	require.NoError(t, reach(t, app.Config{Conn: app.ConnConfig{Context: "here"}}))
	err := reach(t, app.Config{Conn: app.ConnConfig{Context: "there"}})
	require.ErrorIs(t, err, app.ErrContext)
	require.ErrorContains(t, err, `no context "there"`)
}

// What is wrong with a file is said before anything is asked, and shows no secret.
func TestWhatCannotConnectIsSaid(t *testing.T) {
	t.Parallel()
	secret, _ := seed(t)
	account, err := nkeys.CreateAccount()
	require.NoError(t, err)
	accountSeed, err := account.Seed()
	require.NoError(t, err)
	a := newAuthority(t)
	cert, key := a.pair()
	_, otherKey := a.pair()
	missing := filepath.Join(t.TempDir(), "missing")
	for _, c := range []struct {
		conn app.ConnConfig
		is   error
		says string
	}{
		{app.ConnConfig{Creds: missing}, app.ErrCreds, missing},
		{app.ConnConfig{Creds: file(t, "c", "hunter2")}, app.ErrCreds, "no seed"},
		{app.ConnConfig{Creds: file(t, "c", "-----BEGIN NATS USER JWT-----\nhunter2\n------END NATS USER JWT------\n")}, app.ErrCreds, "no seed"},
		{app.ConnConfig{NKey: missing}, app.ErrNKey, missing},
		{app.ConnConfig{NKey: file(t, "n", "hunter2")}, app.ErrNKey, "begins with SU"},
		{app.ConnConfig{NKey: file(t, "n", string(accountSeed))}, app.ErrNKey, "not a user's"},
		{app.ConnConfig{NKey: file(t, "n", secret), Creds: missing}, app.ErrNKey, "only one of them"},
		{app.ConnConfig{CA: missing}, app.ErrCA, missing},
		{app.ConnConfig{CA: file(t, "a", "hunter2")}, app.ErrCA, "no PEM certificate"},
		{app.ConnConfig{Cert: file(t, "c", cert)}, app.ErrCert, "only the certificate"},
		{app.ConnConfig{Key: file(t, "k", key)}, app.ErrCert, "only the key"},
		{app.ConnConfig{Cert: file(t, "c", cert), Key: file(t, "k", otherKey)}, app.ErrCert, "private key"},
		{app.ConnConfig{InboxPrefix: "a.>"}, app.ErrConfig, "InboxPrefix"},
		{app.ConnConfig{Domain: "a b"}, app.ErrConfig, "Domain"},
		{app.ConnConfig{Context: missing + ".json"}, app.ErrContext, missing},
		{app.ConnConfig{Context: file(t, "c.json", `{"password":1,"x":"hunter2"}`)}, app.ErrContext, "wrong type"},
		{app.ConnConfig{Context: file(t, "c.json", `{"url":"nats://u:hunter2@h:x y"}`)}, app.ErrContext, "malformed"},
		{app.ConnConfig{Context: file(t, "c.json", `{"nsc":"nsc://o/a/u"}`)}, app.ErrContext, "nsc generate creds"},
		{app.ConnConfig{Context: file(t, "c.json", `{"socks_proxy":"socks5://u:hunter2@h"}`)}, app.ErrContext, "SOCKS"},
		{app.ConnConfig{Context: file(t, "c.json", `{"user_jwt":"hunter2"}`)}, app.ErrContext, "JWT"},
		{app.ConnConfig{Context: file(t, "c.json", `{"jetstream_api_prefix":"other"}`)}, app.ErrContext, "prefix"},
		{app.ConnConfig{Context: file(t, "c.json", `{"creds":"op://vault/item"}`)}, app.ErrContext, "name a file"},
	} {
		err := reach(t, app.Config{NATS: "nats://127.0.0.1:1", Conn: c.conn})
		require.ErrorIs(t, err, c.is)
		require.ErrorContains(t, err, c.says)
		require.NotContains(t, err.Error(), "hunter2")
		_, err = app.New(app.Config{NATS: "nats://127.0.0.1:1", Conn: c.conn})
		require.ErrorIs(t, err, c.is)
	}
}

// Nothing that is logged while connecting shows what is secret.
func TestSecretsAreNotLogged(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for _, cfg := range []app.Config{
		{NATS: "nats://u:hunter2@127.0.0.1:1,nats://hunter2@127.0.0.1:2"},
		{Conn: app.ConnConfig{Context: natsContext(t, map[string]any{"url": "nats://127.0.0.1:1", "token": "hunter2"})}},
	} {
		cfg.Connect, cfg.Logger = 300*time.Millisecond, log
		err := reach(t, cfg)
		require.ErrorIs(t, err, app.ErrBroker)
		require.NotContains(t, err.Error(), "hunter2")
	}
	require.NotContains(t, out.String(), "hunter2")
	require.Contains(t, out.String(), "127.0.0.1:1", "it says where it tries")
}
