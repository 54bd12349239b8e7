package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/rejoin/rejoin/internal/auth"
	"github.com/rejoin/rejoin/internal/config"
)

// tokenOptions are the flags of token.
type tokenOptions struct {
	key, newKey         string
	sub, tenant, roles  string
	tenantClaim, roleIn string
	ttl                 time.Duration
	from                auth.JWTConfig // Issuer and Audience
}

var tokenCommand = command{
	name: "token",
	about: config.About{
		Summary: "make keys and tokens, to try --auth jwt out",
		Text: `With --new-key it writes a private key (a JWK) into a file that does not exist yet, and its public part beside it,
with .pub behind the name: that is for --jwt-keys, the private one for --key here and, with other relays, for
--resume-keys. With --key it prints a token signed with that key, which a relay takes that was started so:

  rejoin dev --auth jwt --jwt-keys dev.jwk.pub --jwt-issuer me --jwt-audience rejoin

In production tokens come from an issuer.`,
		Examples: []string{
			"rejoin token --new-key dev.jwk",
			"rejoin token --key dev.jwk --sub ann --jwt-issuer me --jwt-audience rejoin",
			"rejoin token --key dev.jwk --sub svc --roles producer,admin --ttl 10m --jwt-issuer me --jwt-audience rejoin",
		},
	},
	flags: func(s *config.Set) action {
		o := tokenOptions{ttl: time.Hour, roles: string(auth.Observer), roleIn: auth.DefaultRolesClaim}
		s.Add(keysFile(&o.newKey), "new-key", "Where to write a new private key; its public part gets .pub behind the name.")
		s.Add(keysFile(&o.key), "key", "The private key to sign with: a JWK or a JWK set with OKP (Ed25519) or oct (HS256).")
		s.Add(config.Text(&o.sub, "NAME", "1 to 256 bytes", nil), "sub", "Who the token is for.")
		s.Add(config.Text(&o.roles, "ROLE[,ROLE]", "one or more of observer, producer and admin, with commas between them", areRoles), "roles", "What the token allows: observer, producer, admin.")
		s.Add(config.Text(&o.roleIn, "NAME", "the name of a claim", nil), "jwt-roles-claim", "The claim that has them.")
		s.Add(config.Text(&o.tenant, "NAME", "up to 256 bytes", nil), "tenant", "Whose tenant's; it needs --jwt-tenant-claim.")
		s.Add(config.Text(&o.tenantClaim, "NAME", "the name of a claim", nil), "jwt-tenant-claim", "The claim that has it.")
		s.Add(config.Seconds(&o.ttl, time.Second, 365*day), "ttl", "How long the token is good for.")
		issuerFlags(s, &o.from)
		return func(_ context.Context, std stdio) error {
			switch {
			case (o.newKey == "") == (o.key == ""):
				return s.Wrong("either --new-key or --key is needed: is a key to be made, or a token?")
			case o.newKey != "":
				return writeKeys(std, o.newKey)
			case o.sub == "":
				return s.Wrong("--sub is missing: who is the token for?")
			case o.from.Issuer == "" || o.from.Audience == "":
				return s.Wrong("--jwt-issuer and --jwt-audience are missing: which relay is to take the token?")
			case o.tenant != "" && o.tenantClaim == "":
				return s.Wrong("--tenant needs --jwt-tenant-claim: which claim is it?")
			}
			token, err := auth.Sign(o.key, o.claims(time.Now()))
			if err != nil {
				return err
			}
			fmt.Fprintln(std.out, token)
			return nil
		}
	},
}

func areRoles(list string) bool {
	for role := range strings.SplitSeq(list, ",") {
		if auth.NewRoles(auth.Role(role)) == 0 {
			return false
		}
	}
	return true
}

func (o tokenOptions) claims(now time.Time) map[string]any {
	c := map[string]any{"iss": o.from.Issuer, "aud": o.from.Audience, "sub": o.sub,
		"iat": now.Unix(), "exp": now.Add(o.ttl).Unix(), o.roleIn: strings.Split(o.roles, ",")}
	if o.tenant != "" {
		c[o.tenantClaim] = o.tenant
	}
	return c
}

// writeKeys writes a pair of keys, and never over anything.
func writeKeys(std stdio, path string) error {
	private, public, err := auth.NewKeys()
	if err != nil {
		return err
	}
	for _, f := range []struct {
		path string
		doc  []byte
		mode fs.FileMode
	}{{path, private, 0o600}, {path + ".pub", public, 0o644}} {
		out, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.mode)
		if err != nil {
			return err
		}
		_, err = out.Write(append(f.doc, '\n'))
		if err = errors.Join(err, out.Close()); err != nil {
			return err
		}
		fmt.Fprintln(std.out, f.path)
	}
	return nil
}
