package app_test

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/app"
)

// operator is a broker that believes what an operator has signed.
type operator struct {
	t       *testing.T
	url     string
	account nkeys.KeyPair
}

func newOperator(t *testing.T) *operator {
	t.Helper()
	made := func(pair nkeys.KeyPair, err error) (nkeys.KeyPair, string) {
		require.NoError(t, err)
		public, err := pair.PublicKey()
		require.NoError(t, err)
		return pair, public
	}
	op, opPublic := made(nkeys.CreateOperator())
	account, accountPublic := made(nkeys.CreateAccount())
	_, sysPublic := made(nkeys.CreateAccount())
	resolver := &server.MemAccResolver{}
	for _, public := range []string{accountPublic, sysPublic} {
		c := jwt.NewAccountClaims(public)
		if public == accountPublic {
			c.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: -1, MemoryStorage: -1, Streams: -1, Consumer: -1}
		}
		signed, err := c.Encode(op)
		require.NoError(t, err)
		require.NoError(t, resolver.Store(public, signed))
	}
	o := &operator{t: t, account: account}
	o.url = broker(t, func(opts *server.Options) {
		opts.TrustedKeys, opts.AccountResolver, opts.SystemAccount = []string{opPublic}, resolver, sysPublic
	})
	return o
}

// creds is the text of a credentials file for a new user.
func (o *operator) creds(expires time.Duration) string {
	o.t.Helper()
	user, err := nkeys.CreateUser()
	require.NoError(o.t, err)
	public, err := user.PublicKey()
	require.NoError(o.t, err)
	seed, err := user.Seed()
	require.NoError(o.t, err)
	c := jwt.NewUserClaims(public)
	if expires > 0 {
		c.Expires = time.Now().Add(expires).Unix()
	}
	token, err := c.Encode(o.account)
	require.NoError(o.t, err)
	text, err := jwt.FormatUserConfig(token, seed)
	require.NoError(o.t, err)
	return string(text)
}

func TestItConnectsWithCredentials(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	require.NoError(t, reach(t, app.Config{NATS: o.url, Conn: app.ConnConfig{Creds: file(t, "me.creds", o.creds(0))}}))
	require.NoError(t, reach(t, app.Config{Conn: app.ConnConfig{
		Context: natsContext(t, map[string]any{"url": o.url, "creds": file(t, "me.creds", o.creds(0))})}}))
}

// A user whose time is over ends the process, and one whose file was renewed meanwhile
// goes on.
func TestCredentialsThatEnd(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	require.NoError(t, reach(t, app.Config{NATS: o.url, Conn: app.ConnConfig{Creds: file(t, "init.creds", o.creds(0))}}))
	start := func(path string) (log hears, done <-chan error) {
		log, ended := hears{slog.DiscardHandler, make(chan string, 1000)}, make(chan error, 1)
		go func() {
			ended <- app.RunJanitor(t.Context(), app.Config{NATS: o.url, Conn: app.ConnConfig{Creds: path}, Logger: slog.New(log)})
		}()
		return log, ended
	}
	// Long enough for a slow machine to connect, and to renew the file, before.
	log, lost := start(file(t, "lost.creds", o.creds(10*time.Second)))
	log.until(t, "sweeping", lost)
	path := file(t, "kept.creds", o.creds(10*time.Second))
	log, kept := start(path)
	log.until(t, "sweeping", kept)
	require.NoError(t, os.WriteFile(path+".new", []byte(o.creds(0)), 0o600))
	require.NoError(t, os.Rename(path+".new", path))
	log.until(t, "reached the broker again", kept)
	select {
	case err := <-lost:
		require.ErrorIs(t, err, app.ErrBrokerLost)
		// A server still looks at a user in the second in which it ends, and then the
		// client hears of the end twice instead of a refusal.
		require.Regexp(t, "Authorization Violation|Authentication Expired", err.Error())
	case <-time.After(patience):
		t.Fatal("it goes on with a user that has ended")
	}
}

// hears keeps what is logged.
type hears struct {
	slog.Handler
	said chan string
}

func (h hears) Enabled(context.Context, slog.Level) bool { return true }

func (h hears) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h hears) Handle(_ context.Context, r slog.Record) error {
	h.said <- r.Message
	return nil
}

// until waits for a message of somebody who does not end before.
func (h hears) until(t *testing.T, text string, ended <-chan error) {
	t.Helper()
	over := time.After(patience)
	for {
		select {
		case said := <-h.said:
			if said == text {
				return
			}
		case err := <-ended:
			t.Fatalf("it ended before it said %q: %v", text, err)
		case <-over:
			t.Fatalf("it never said %q", text)
		}
	}
}
