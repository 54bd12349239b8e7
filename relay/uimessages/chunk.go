package uimessages

import "encoding/json"

// Emit takes one chunk, a JSON object in pieces that follow one another. They are valid only
// while it runs.
type Emit func(pieces ...[]byte)

// object builds one chunk. Large values are pieces of their own, so that they are not copied.
type object struct {
	pieces [][]byte
	buf    []byte
}

// largeValue is from how many bytes on a value is not copied.
const largeValue = 4 << 10

// chunk begins a chunk of a type.
func chunk(kind string) *object {
	o := &object{}
	return o.text("type", kind)
}

// raw adds a member whose value is JSON; nil is null.
func (o *object) raw(key string, value []byte) *object {
	if value == nil {
		value = []byte("null")
	}
	if o.buf == nil && o.pieces == nil {
		o.buf = append(o.buf, '{')
	} else {
		o.buf = append(o.buf, ',')
	}
	o.buf = append(append(append(o.buf, '"'), key...), `":`...)
	if len(value) < largeValue {
		o.buf = append(o.buf, value...)
		return o
	}
	o.pieces = append(o.pieces, o.buf, value)
	o.buf = []byte{}
	return o
}

// text adds a member that is a string.
func (o *object) text(key, value string) *object { return o.raw(key, quote(value)) }

// yes adds a member that is true.
func (o *object) yes(key string) *object { return o.raw(key, []byte("true")) }

func (o *object) done() [][]byte { return append(o.pieces, append(o.buf, '}')) }

// quote is a JSON string without escapes that only HTML needs.
func quote(s string) []byte {
	b, err := encode(s)
	if err != nil {
		panic(err) // a string always marshals
	}
	return b
}

// fields are the members of a JSON object, as written; nil for any other value. Of several
// of one name the last one counts, as it does for browsers.
type fields map[string]json.RawMessage

func fieldsOf(raw []byte) fields {
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	var f fields
	if json.Unmarshal(raw, &f) != nil {
		return nil
	}
	return f
}

// text is a member that is a string, "" for any other.
func (f fields) text(key string) string { return textOf(f[key]) }

// textOf is what a JSON string says, "" for any other value. Halves of surrogate pairs that
// are alone become the replacement character.
func textOf(raw []byte) string {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// isString says whether a value is one.
func isString(raw []byte) bool { return len(raw) >= 2 && raw[0] == '"' }
