package relay

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rs/cors"
)

// anyOrigin as the only one of Config.Origins lets every page ask.
const anyOrigin = "*"

// ErrOrigins is wrapped by the error for Config.Origins that are none.
var ErrOrigins = errors.New("origins")

// preflightAge is how many seconds a browser may remember the answer to a preflight;
// the longest that any of them does.
const preflightAge = 7200

// What a page of another origin may send and read, besides what every page may. Those
// that an agent is to see are sent by pages too.
var (
	crossMethods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut}
	crossHeaders = []string{"Accept", "Authorization", "Cache-Control", "Content-Type", "If-None-Match", "Last-Event-ID",
		"Rejoin-First-Seq", "Traceparent", "Tracestate", "Baggage", "X-Requested-With"}
	crossReads = []string{"Allow", "ETag", "Location", "Rejoin-Run-Id", "Retry-After", "WWW-Authenticate"}
)

// cross lets pages of the origins allowed read every answer that next gives, whatever
// its status, and answers their preflights: a preflight brings no credentials, so it is
// answered before anybody asks for them. Without origins next is left as it is.
//
// It stands before everything else, since an answer without its headers is one that a
// page cannot even read the status of.
func (c Config) cross(next http.Handler) http.Handler {
	if len(c.Origins) == 0 {
		return next
	}
	return cors.New(cors.Options{
		AllowedOrigins: c.Origins,
		AllowedMethods: crossMethods,
		AllowedHeaders: append(slices.Clone(crossHeaders), c.ForwardHeaders...),
		ExposedHeaders: crossReads,
		// Cookies are for a gateway before the relay, which itself reads none.
		AllowCredentials: c.Origins[0] != anyOrigin,
		MaxAge:           preflightAge,
	}).Handler(next)
}

// CheckOrigin says what is wrong with an entry of Config.Origins, nil if nothing is.
func CheckOrigin(origin string) error {
	if origin == anyOrigin {
		return nil
	}
	scheme, host, ok := strings.Cut(origin, "://")
	subdomains := strings.HasPrefix(host, "*.")
	plain := origin
	if subdomains {
		plain = scheme + "://" + host[len("*."):]
	}
	u, err := url.Parse(plain)
	switch {
	case !ok, err != nil, u.Scheme == "", u.Hostname() == "", strings.ContainsFunc(plain, notInOrigin):
	case strings.HasSuffix(u.Host, ":"), u.User != nil, plain != u.Scheme+"://"+u.Host: // nothing follows the port, not even a slash
	case subdomains && !strings.Contains(strings.Trim(u.Hostname(), "."), "."): // a whole top-level domain
	default:
		return nil
	}
	return fmt.Errorf("%.100q is no origin; allowed are scheme://host or scheme://host:port as browsers send them, https://*.example.com for all hosts below one, or * alone", origin)
}

// notInOrigin says whether a character has no place in an origin; a host beyond ASCII
// is sent in its xn-- form.
func notInOrigin(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"<>\^{}|%,;*`+"`", r)
}

// CheckOrigins says what is wrong with Config.Origins; the error wraps ErrOrigins.
func CheckOrigins(origins []string) error {
	for _, origin := range origins {
		if err := CheckOrigin(origin); err != nil {
			return fmt.Errorf("%w: %w", ErrOrigins, err)
		}
		if origin == anyOrigin && len(origins) > 1 {
			return fmt.Errorf("%w: * is one of %d; it is allowed alone, since it lets every page in, and none with cookies", ErrOrigins, len(origins))
		}
	}
	return nil
}
