package agui

import (
	"bytes"
	"iter"
	"strings"
	"unicode/utf8"
)

// What follows looks into JSON that Scan has found to be valid, and copies nothing.

// field returns the value of a top-level member as written, nil if there is none. Of
// several the last one counts, as it does for browsers.
func (e *Event) field(key string) []byte {
	if e.n == maxFields {
		return member(e.Raw, key)
	}
	for i := e.n - 1; i >= 0; i-- {
		if same(e.key(i), key) {
			return e.value(i)
		}
	}
	return nil
}

// text returns the body of a top-level member that is a string, as written.
func (e *Event) text(key string) (body []byte, ok bool) { return inside(e.field(key)) }

// member is field for any JSON object; nil for any other value.
func member(object []byte, key string) (value []byte) {
	for k, v := range members(object) {
		if same(k, key) {
			value = v
		}
	}
	return value
}

// inside returns the inside of a JSON string, as written.
func inside(value []byte) (body []byte, ok bool) {
	if len(value) < 2 || value[0] != '"' {
		return nil, false
	}
	return value[1 : len(value)-1], true
}

// members yields the members of a valid JSON object: keys without their quotes,
// and both as written. Any other value has none.
func members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		i := space(object, 0)
		if i >= len(object) || object[i] != '{' {
			return
		}
		for i = space(object, i+1); i < len(object) && object[i] == '"'; i = space(object, i+1) {
			end, next, _, err := name(object, i, "")
			if err != nil {
				return
			}
			to, err := value(object, next)
			if err != nil || !yield(object[i+1:end], object[next:to]) {
				return
			}
			if i = space(object, to); i >= len(object) || object[i] != ',' {
				return
			}
		}
	}
}

// elements yields the elements of a valid JSON array, as written.
func elements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		i := space(array, 0)
		if i >= len(array) || array[i] != '[' {
			return
		}
		for i = space(array, i+1); i < len(array) && array[i] != ']'; i = space(array, i+1) {
			to, err := value(array, i)
			if err != nil || !yield(array[i:to]) {
				return
			}
			if i = space(array, to); i >= len(array) || array[i] != ',' {
				return
			}
		}
	}
}

// same reports whether the body of a JSON string says the given text.
func same(body []byte, text string) bool {
	return string(body) == text || bytes.IndexByte(body, '\\') >= 0 && decode(body) == text
}

// alike reports whether two bodies of JSON strings say the same.
func alike(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	return (bytes.IndexByte(a, '\\') >= 0 || bytes.IndexByte(b, '\\') >= 0) && decode(a) == decode(b)
}

// decode resolves the escapes of a string's body. A half of a surrogate pair that is
// alone, which Go has no character for, stays apart from every other: it becomes the
// three bytes of its number, which are not valid UTF-8.
func decode(body []byte) string {
	if bytes.IndexByte(body, '\\') < 0 {
		return string(body)
	}
	out := make([]byte, 0, len(body))
	for i := 0; i < len(body); {
		c := body[i]
		i++
		if c != '\\' {
			out = append(out, c)
			continue
		}
		c = body[i]
		i++
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r := unit(body[i:])
			i += 4
			if isHigh(r) && i+6 <= len(body) && body[i] == '\\' && body[i+1] == 'u' {
				if low := unit(body[i+2:]); isLow(low) {
					r = 0x10000 + (r-0xd800)<<10 + (low - 0xdc00)
					i += 6
				}
			}
			if isHigh(r) || isLow(r) {
				out = append(out, 0xe0|byte(r>>12), 0x80|byte(r>>6&0x3f), 0x80|byte(r&0x3f))
			} else {
				out = utf8.AppendRune(out, r)
			}
			continue
		}
		out = append(out, c)
	}
	return string(out)
}

// unit is the number that the four digits of a \u escape stand for.
func unit(hex []byte) rune {
	return rune(unhex(hex[0]))<<12 | rune(unhex(hex[1]))<<8 | rune(unhex(hex[2]))<<4 | rune(unhex(hex[3]))
}

func isHigh(r rune) bool { return r >= 0xd800 && r < 0xdc00 }
func isLow(r rune) bool  { return r >= 0xdc00 && r < 0xe000 }

// toValid gives every lone half of a surrogate pair the replacement character.
func toValid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
