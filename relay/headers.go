package relay

import (
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"unicode/utf8"
)

// notForwarded are the headers that say something about one connection or one body,
// and nothing about what is asked.
var notForwarded = map[string]bool{
	"Accept-Encoding": true, "Connection": true, "Content-Encoding": true, "Content-Length": true, "Content-Type": true,
	"Expect": true, "Host": true, "Http2-Settings": true, "Keep-Alive": true, "Proxy-Authenticate": true,
	"Proxy-Authorization": true, "Proxy-Connection": true, "Te": true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
}

// forwardable gives the canonical names of the headers that are to be forwarded; the
// error wraps ErrConfig.
func forwardable(names []string) ([]string, error) {
	var all []string
	for _, name := range names {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case !isToken(name):
			return nil, fmt.Errorf("%w: ForwardHeaders has %.60q, which is no header's name", ErrConfig, name)
		case notForwarded[canonical]:
			return nil, fmt.Errorf("%w: ForwardHeaders has %s, which belongs to a connection or a body and is not forwarded", ErrConfig, canonical)
		case !slices.Contains(all, canonical):
			all = append(all, canonical)
		}
	}
	return all, nil
}

func isToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// forwarded is what the agent may see of a request's headers: those named, unless the
// request itself says that they are meant for this connection only.
func forwarded(h http.Header, names []string) map[string]string {
	var out map[string]string
	for _, name := range names {
		values := h.Values(name)
		joined := strings.Join(values, separator(name))
		if len(values) == 0 || !utf8.ValidString(joined) || named(h.Values("Connection"), name) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = joined
	}
	return out
}

func separator(name string) string {
	if name == "Cookie" {
		return "; "
	}
	return ", "
}

// named says whether a list that is spread over header lines has a name.
func named(lines []string, name string) bool {
	for _, line := range lines {
		for one := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(one), name) {
				return true
			}
		}
	}
	return false
}
