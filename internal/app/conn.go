package app

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// ConnConfig says how to connect to a broker that Config.NATS names. What is zero is as
// Context says, and without one as NATS has it by default. A user and a password, or a
// token, stand in the URL.
type ConnConfig struct {
	// Context is a context of the nats command: its name, or the path of its file. It
	// says where the broker is too, where Config.NATS does not.
	Context string
	Creds   string // file with the user's JWT and seed, as nsc writes it
	NKey    string // file with the seed of the user's nkey
	CA      string // file with the certificates, PEM, of who signs for the servers; "" means the system's
	Cert    string // file with the client's certificate, PEM; needs Key
	Key     string // file with that certificate's key, PEM
	// TLSFirst begins with TLS, before the server has said anything.
	TLSFirst bool
	// InboxPrefix is where answers are received; "" means _INBOX. It is for brokers
	// that give every user inboxes of its own.
	InboxPrefix string
	// Domain is the JetStream domain; "" means the connection's own.
	Domain string

	user, password, token string // of Context
}

// identified says whether it is said who connects.
func (c *ConnConfig) identified() bool {
	return c.Creds != "" || c.NKey != "" || c.user != "" || c.token != ""
}

// check reads every file once, so that what is wrong with one is said at once and not
// after a wait for the broker. They are read again at every connection: what rotates is
// taken up.
func (c *ConnConfig) check() error {
	if c.Creds != "" && c.NKey != "" {
		return fmt.Errorf("%w: a file with credentials is named too, and only one of them can say who connects", ErrNKey)
	}
	if (c.Cert == "") != (c.Key == "") {
		return fmt.Errorf("%w: a certificate and its key are needed together; given is only %s", ErrCert, given(c.Cert, "the certificate", "the key"))
	}
	if c.InboxPrefix != "" && !ValidInboxPrefix(c.InboxPrefix) {
		return fmt.Errorf("%w: InboxPrefix is %.60q; allowed are tokens joined by dots, without wildcards and spaces", ErrConfig, c.InboxPrefix)
	}
	if c.Domain != "" && !ValidDomain(c.Domain) {
		return fmt.Errorf("%w: Domain is %.60q; allowed is one token, without dots, wildcards and spaces", ErrConfig, c.Domain)
	}
	for _, f := range []struct {
		path string
		kind error
		read func([]byte) error
	}{{c.Creds, ErrCreds, readCreds}, {c.NKey, ErrNKey, readSeed}, {c.CA, ErrCA, readCA}} {
		if f.path == "" {
			continue
		}
		data, err := os.ReadFile(f.path)
		if err == nil {
			err = f.read(data)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", f.kind, inFile(f.path, err))
		}
	}
	if c.Cert != "" {
		if _, err := tls.LoadX509KeyPair(c.Cert, c.Key); err != nil {
			return fmt.Errorf("%w: %s and %s: %w", ErrCert, c.Cert, c.Key, err)
		}
	}
	return nil
}

// inFile says which file it is about, where err does not.
func inFile(path string, err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

func given(path, one, other string) string {
	if path != "" {
		return one
	}
	return other
}

// What is read is a secret: no error may show any of it.

func readCreds(data []byte) error {
	if _, err := nkeys.ParseDecoratedJWT(data); err != nil {
		return errors.New("there is no user JWT in it")
	}
	pair, err := nkeys.ParseDecoratedUserNKey(data)
	if err != nil {
		return errors.New("there is no seed of a user's nkey in it")
	}
	pair.Wipe()
	return nil
}

func readSeed(data []byte) error {
	pair, err := nkeys.ParseDecoratedNKey(data)
	if err != nil {
		return errors.New("there is no nkey seed in it; one for a user begins with SU")
	}
	defer pair.Wipe()
	if public, err := pair.PublicKey(); err != nil || !nkeys.IsValidPublicUserKey(public) {
		return errors.New("its nkey seed is not a user's, which begins with SU")
	}
	return nil
}

func readCA(data []byte) error {
	if !x509.NewCertPool().AppendCertsFromPEM(data) {
		return errors.New("there is no PEM certificate in it")
	}
	return nil
}

// ValidInboxPrefix says whether s may be ConnConfig.InboxPrefix.
func ValidInboxPrefix(s string) bool {
	for token := range strings.SplitSeq(s, ".") {
		if !ValidDomain(token) {
			return false
		}
	}
	return true
}

// ValidDomain says whether s may be ConnConfig.Domain: one token of a subject.
func ValidDomain(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r == 0x7f || r == '.' || r == '*' || r == '>'
	})
}

// options are what the NATS client is told of it.
func (c *ConnConfig) options() ([]nats.Option, error) {
	var opts []nats.Option
	switch {
	case c.Creds != "":
		opts = append(opts, nats.UserCredentials(c.Creds))
	case c.NKey != "":
		opt, err := nats.NkeyOptionFromSeed(c.NKey)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNKey, inFile(c.NKey, err))
		}
		opts = append(opts, opt)
	case c.user != "":
		opts = append(opts, nats.UserInfo(c.user, c.password))
	case c.token != "":
		opts = append(opts, nats.Token(c.token))
	}
	if c.CA != "" {
		opts = append(opts, nats.RootCAs(c.CA))
	}
	if c.Cert != "" {
		opts = append(opts, nats.ClientCert(c.Cert, c.Key))
	}
	if c.TLSFirst {
		opts = append(opts, nats.TLSHandshakeFirst())
	}
	if c.InboxPrefix != "" {
		opts = append(opts, nats.CustomInboxPrefix(c.InboxPrefix))
	}
	return opts, nil
}
