package main

import (
	"errors"
	"net"
	"net/http"
	"net/url"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/config"
	"github.com/rejoin/rejoin/internal/probe"
)

// urlFlag says where the relay is, and how much is said about coming back to it.
func urlFlag(s *config.Set, p *string) *logFlags {
	*p = "http://127.0.0.1:8080"
	s.Add(config.Text(p, "URL", "a URL such as http://127.0.0.1:8080 or https://host/path", isHTTP), "url", "Where a relay serves.")
	return &logFlags{level: "warn"}
}

func isHTTP(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && u.RawQuery == "" && u.Fragment == ""
}

// hint says what to look at when a relay could not be called; it is "" for other errors.
func hint(err error, at string) string { return nobodyThere(err, at) + notLetIn(err) }

// notLetIn says how to be let in when err is a 401; else it is "".
func notLetIn(err error) string {
	var watching *consumer.HTTPError
	var producing *problemError
	if errors.As(err, &watching) && watching.Status == http.StatusUnauthorized ||
		errors.As(err, &producing) && producing.Status == http.StatusUnauthorized || errors.Is(err, probe.ErrUnauthenticated) {
		return "; --token (REJOIN_TOKEN) or --token-file (REJOIN_TOKEN_FILE) says with which token to call"
	}
	return ""
}

// nobodyThere says what to look at when err is that nothing could be connected to;
// else it is "".
func nobodyThere(err error, at string) string {
	var dial *net.OpError
	u, bad := url.Parse(at)
	if bad != nil || !errors.As(err, &dial) || dial.Op != "dial" {
		return ""
	}
	return "; is a relay running at " + printable(u.Redacted()) + "? --url says where"
}
