package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"

	"github.com/rejoin/rejoin/internal/auth"
)

// AuthConfig says who may use a relay. The zero value lets everybody, on the loopback
// interface.
type AuthConfig struct {
	Kind     string            // AuthNone or AuthJWT; "" means AuthNone
	Insecure bool              // AuthNone beyond the loopback interface; keys over http://
	JWT      auth.JWTConfig    // of AuthJWT
	Resume   auth.ResumeConfig // its zero value means a key of this process
}

// The kinds of authentication.
const (
	AuthNone = "none"
	AuthJWT  = "jwt"
)

// Check says whether the configuration can serve on an address. The error wraps ErrOpen or
// ErrConfig.
func (c AuthConfig) Check(addr string) error {
	switch c.Kind {
	case AuthJWT:
		return nil
	case "", AuthNone:
	default:
		return fmt.Errorf("%w: Auth.Kind is %.20q, allowed are %s and %s", ErrConfig, c.Kind, AuthNone, AuthJWT)
	}
	if !c.Insecure && !loopback(addr) {
		return fmt.Errorf("%w: others can reach %s, and nobody is authenticated; allowed are authentication, an address such as 127.0.0.1:8080, or being told that it is meant so",
			ErrOpen, addr)
	}
	return nil
}

// CheckBroker says whether the embedded broker, which authenticates nobody whatever the relay
// does, can take connections on an address; "" is none. The error wraps ErrOpen.
func (c AuthConfig) CheckBroker(addr string) error {
	if addr == "" || c.Insecure || loopback(addr) {
		return nil
	}
	return fmt.Errorf("%w: others can reach the embedded broker at %s, which authenticates nobody; allowed are an address such as 127.0.0.1:4222, "+
		"a broker of its own, or being told that it is meant so", ErrOpen, addr)
}

// loopback says whether only this machine reaches an address. A name counts only if it is
// localhost: what others resolve to is not known before they are listened on.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// identities are what a relay tells its callers apart by.
type identities struct {
	callers auth.Authenticator // nil where nobody is authenticated
	resume  *auth.Resume
	run     func(context.Context) // keeps keys fresh; blocks
}

func (c AuthConfig) open(log *slog.Logger) (*identities, error) {
	ids := &identities{}
	var keep func(context.Context)
	if c.Kind == AuthJWT {
		c.JWT.Logger, c.JWT.AllowPlain = log, c.Insecure
		j, err := auth.NewJWT(c.JWT)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrAuth, err)
		}
		ids.callers, keep = j, j.Run
	}
	c.Resume.Logger, c.Resume.Leeway, c.Resume.Callers = log, c.JWT.Leeway, ids.callers
	var err error
	if ids.resume, err = auth.NewResume(c.Resume); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrResume, err)
	}
	ids.run = func(ctx context.Context) {
		var wg sync.WaitGroup
		if keep != nil {
			wg.Go(func() { keep(ctx) })
		}
		ids.resume.Run(ctx)
		wg.Wait()
	}
	return ids, nil
}
