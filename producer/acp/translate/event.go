package translate

import (
	"bytes"
	"encoding/json"
	"iter"
	"unicode/utf8"

	"github.com/rejoin/rejoin/internal/agui"
)

// maxDelta is how much of a JSON string goes into one delta. Larger ones are cut: a
// line of an agent may be larger than an event.
const maxDelta = 1 << 20

// event is an event in the making: an object without its closing brace.
type event []byte

func newEvent(t agui.Type) event {
	return append(append(event(`{"type":"`), t...), '"')
}

// str adds a string.
func (e event) str(key, value string) event { return e.raw(key, quote(value)) }

// raw adds a value as it is written.
func (e event) raw(key string, value []byte) event {
	e = append(e, ',', '"')
	e = append(e, key...)
	e = append(e, '"', ':')
	return append(e, value...)
}

func (e event) end() []byte { return append(e, '}') }

// quote is s as JSON, with no more escapes than JSON wants.
func quote(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always has a form
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// isString reports whether a value is a JSON string.
func isString(raw []byte) bool { return len(raw) >= 2 && raw[0] == '"' }

// plain is what a JSON string says, "" for anything else.
func plain(raw []byte) (s string) {
	if isString(raw) {
		_ = json.Unmarshal(raw, &s)
	}
	return s
}

// deltas yields a JSON string in pieces that are JSON strings of up to maxDelta bytes or
// little more, cut between characters. An empty string has none: old clients take
// an empty delta for a fault.
func deltas(raw []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		body := raw[1 : len(raw)-1]
		if len(body) > 0 && len(body) <= maxDelta {
			yield(raw)
			return
		}
		for len(body) > 0 {
			n := 0
			for n < len(body) && n < maxDelta {
				n += character(body[n:])
			}
			piece := append(append(append(make([]byte, 0, n+2), '"'), body[:n]...), '"')
			if !yield(piece) {
				return
			}
			body = body[n:]
		}
	}
}

// character is how many bytes the first character of a JSON string's body takes. The two
// halves of a surrogate pair are one.
func character(body []byte) int {
	if body[0] != '\\' {
		_, n := utf8.DecodeRune(body)
		return n
	}
	switch {
	case body[1] != 'u':
		return 2
	case len(body) >= 12 && isHigh(body) && body[6] == '\\' && body[7] == 'u':
		return 12
	}
	return 6
}

// isHigh reports whether \uXXXX is the first half of a surrogate pair.
func isHigh(escape []byte) bool {
	return escape[2]|0x20 == 'd' && (escape[3] == '8' || escape[3] == '9' || escape[3]|0x20 == 'a' || escape[3]|0x20 == 'b')
}
