package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/auth"
	"github.com/rejoin/rejoin/internal/config"
)

// authFlags say who may use a relay.
func authFlags(s *config.Set, c *app.Config) {
	a := &c.Auth
	a.Kind = app.AuthNone
	a.JWT.RolesClaim, a.JWT.Leeway, a.Resume.TTL = auth.DefaultRolesClaim, auth.DefaultLeeway, auth.DefaultResumeTTL
	s.Add(config.OneOf(&a.Kind, app.AuthNone, app.AuthJWT), "auth",
		"none: everybody may do everything, so that --addr must be one of the loopback interface.\njwt: every request needs a JSON Web Token, and everybody sees their own chats only.")
	s.Add(config.Switch(&a.Insecure), "insecure",
		"With --auth none, serve on any address: whoever reaches it may do everything. The same for --nats-addr. With --jwks-url, take keys over http://.")
	s.Add(keysFile(&a.JWT.KeyFile), "jwt-keys",
		"The keys that tokens are signed with: public ones or certificates in PEM, a JWK, a JWK set, or the secret for HS256\n(one line of at least 32 bytes without spaces). Read again when it changes.")
	s.Add(config.Text(&a.JWT.JWKSURL, "URL", "a URL such as https://issuer.example/keys", isKeysURL), "jwks-url",
		"Where a JWK set with them is served. It is fetched once a minute, and when a token names an unknown key.")
	issuerFlags(s, &a.JWT)
	s.Add(config.Text(&a.JWT.TenantClaim, "NAME", "the name of a claim", nil), "jwt-tenant-claim",
		"The claim with the tenant; a token without it is refused. Unset, all are of one tenant.")
	s.Add(config.Text(&a.JWT.RolesClaim, "NAME", "the name of a claim", nil), "jwt-roles-claim",
		"The claim with the roles: observer, producer, admin. Who has none of them is an observer.")
	s.Add(config.Duration(&a.JWT.Leeway, 0, time.Hour), "jwt-leeway", "By how much the clocks of issuer and relays may differ.")
	s.Add(keysFile(&a.Resume.KeyFile), "resume-keys",
		"The keys for resume tokens: a JWK set of private Ed25519 keys (OKP) or secrets (oct), each with a kid. The first signs,\nall verify. More than one relay need the same file. Unset, a key of this process alone.")
	s.Add(config.Duration(&a.Resume.TTL, time.Second, day), "resume-ttl",
		"How long a resume token is good for; never longer than the token it was asked for with.")
}

// issuerFlags say what is in a token, for those who check them and those who make them.
func issuerFlags(s *config.Set, c *auth.JWTConfig) {
	s.Add(config.Text(&c.Issuer, "NAME", "any text", nil), "jwt-issuer", "What the claim iss must be.")
	s.Add(config.Text(&c.Audience, "NAME", "any text", nil), "jwt-audience", "What the claim aud must have in it.")
}

func keysFile(p *string) config.Value { return config.Text(p, "FILE", "the name of a file", nil) }

func isKeysURL(s string) bool {
	return strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://")
}

// checkAuth says what does not fit together, in the words of the flags.
func checkAuth(s *config.Set, c *app.Config) error {
	j := c.Auth.JWT
	if err := c.Auth.CheckBroker(c.NATSAddr); err != nil {
		return s.Wrong("--nats-addr is %s, which others can reach, and this broker authenticates nobody, whatever --auth is; allowed are "+
			"an address such as 127.0.0.1:4222, a NATS server of its own with rejoin relay, or --insecure if it is meant so", c.NATSAddr)
	}
	if c.Auth.Kind != app.AuthJWT {
		for _, name := range []string{"jwt-keys", "jwks-url", "jwt-issuer", "jwt-audience", "jwt-tenant-claim"} {
			if s.Given(name) {
				return s.Wrong("--%s needs --auth jwt; without it nobody is authenticated", name)
			}
		}
		if err := c.Auth.Check(c.Addr); errors.Is(err, app.ErrOpen) {
			return s.Wrong("--addr is %s, which others can reach, and with --auth none everybody may do everything; "+
				"allowed are --auth jwt, an address such as 127.0.0.1:8080, or --insecure if it is meant so", c.Addr)
		}
		return nil
	}
	switch {
	case (j.KeyFile == "") == (j.JWKSURL == ""):
		return s.Wrong("--auth jwt needs --jwt-keys or --jwks-url, and not both: whose tokens are good?")
	case j.Issuer == "" || j.Audience == "":
		return s.Wrong("--auth jwt needs --jwt-issuer and --jwt-audience: which tokens are meant for this?")
	}
	return nil
}

// credential is the token of a command that calls a relay.
type credential struct{ token, file string }

// credentialFlags say with which token a relay is called.
func credentialFlags(s *config.Set, c *credential) {
	s.Add(config.Secret(config.Text(&c.token, "TOKEN", "a token", nil)), "token", "The token to call the relay with. Others on this machine can see arguments: better use the variable, or a file.")
	s.Add(config.Text(&c.file, "FILE", "the name of a file", nil), "token-file",
		"A file with the token, read again whenever one is needed, so that it can be replaced by a fresh one.")
}

// source gives the token whenever one is needed; it is nil where there is none. The error
// says what is wrong with the flags, and never has the token in it.
func (c credential) source(s *config.Set) (func(context.Context) (string, error), error) {
	switch {
	case c.file != "" && s.Given("token-file") && s.Given("token"):
		return nil, s.Wrong("--token and --token-file exclude each other")
	case c.file != "":
		return c.read, nil
	case c.token == "":
		return nil, nil
	case !sendable(c.token):
		return nil, s.Wrong("--token is no token: it has blanks or other characters that none has")
	}
	return func(context.Context) (string, error) { return c.token, nil }, nil
}

// maxTokenFile is more than any token that a relay takes.
const maxTokenFile = 64 << 10

func (c credential) read(context.Context) (string, error) {
	info, err := os.Stat(c.file)
	if err == nil && info.Size() > maxTokenFile {
		err = fmt.Errorf("%s is larger than %d bytes", c.file, maxTokenFile)
	}
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(c.file)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(data))
	if !sendable(token) {
		return "", fmt.Errorf("there is no token in %s", c.file)
	}
	return token, nil
}

// sendable says whether a token can stand in a header.
func sendable(token string) bool {
	return token != "" && !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
}
