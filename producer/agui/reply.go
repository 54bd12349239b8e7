package agui

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// check says whether the answer is a stream of events; what else it may be is told in
// a few of its own words.
func (a *Agent) check(answer *http.Response, w *watch) error {
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	switch {
	case answer.StatusCode != http.StatusOK:
		return &StatusError{answer.StatusCode, a.excerpt(answer.Body, w)}
	case answer.Header.Get("Content-Encoding") != "" && answer.Header.Get("Content-Encoding") != "identity":
		return fmt.Errorf("%w: it is compressed, which was not asked for", ErrNotEvents)
	case kind == "text/event-stream":
		return nil
	case kind == "" || kind == "text/plain" || kind == "application/octet-stream":
		return nil // said by servers that do not care; what is inside decides
	}
	if words := a.excerpt(answer.Body, w); words != "" {
		return fmt.Errorf("%w: it says %s", ErrNotEvents, words)
	}
	return ErrNotEvents
}

const (
	excerptRead  = 8 << 10         // bytes that are looked at
	excerptLimit = 300             // bytes that are shown
	excerptWait  = 2 * time.Second // for each part of them
)

// excerpt is the beginning of what an answer says, cleaned for people.
func (a *Agent) excerpt(body io.Reader, w *watch) string {
	w.limit(min(a.cfg.IdleTimeout, excerptWait))
	raw, _ := io.ReadAll(io.LimitReader(w.reader(body), excerptRead)) // what there is
	return clean(message(raw))
}

// message is the one member of a JSON body that is meant for people, else all of it.
func message(raw []byte) string {
	var o map[string]json.RawMessage
	if json.Unmarshal(raw, &o) == nil {
		for _, name := range []string{"detail", "message", "error", "title"} {
			var s string
			if json.Unmarshal(o[name], &s) == nil && s != "" {
				return s
			}
			var in struct{ Message string }
			if json.Unmarshal(o[name], &in) == nil && in.Message != "" {
				return in.Message
			}
		}
	}
	return string(raw)
}

// clean makes text one line of printable characters, and short.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= excerptLimit {
		return text
	}
	cut := excerptLimit - len("…")
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
