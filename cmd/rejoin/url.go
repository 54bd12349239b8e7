package main

import (
	"errors"
	"net"
	"net/url"

	"github.com/rejoin/rejoin/internal/config"
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
