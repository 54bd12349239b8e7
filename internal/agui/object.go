package agui

import "encoding/json"

// object builds a JSON object, member after member. The zero value is {}.
type object struct{ buf []byte }

func (b *object) key(key []byte) {
	if b.buf == nil {
		b.buf = append(b.buf, '{')
	} else {
		b.buf = append(b.buf, ',')
	}
	b.buf = append(append(append(b.buf, '"'), key...), '"', ':')
}

// copy adds the members of a valid object, as written, but those named.
func (b *object) copy(from []byte, but ...string) {
	if !isObject(from) {
		return
	}
next:
	for k, v := range members(from) {
		for _, name := range but {
			if same(k, name) {
				continue next
			}
		}
		b.key(k)
		b.buf = append(b.buf, v...)
	}
}

// raw adds a member whose value is JSON.
func (b *object) raw(key string, value []byte) {
	b.key([]byte(key))
	b.buf = append(b.buf, value...)
}

// text adds a member that is a string.
func (b *object) text(key, value string) { b.raw(key, encode(value)) }

func (b *object) bytes() json.RawMessage {
	if b.buf == nil {
		return json.RawMessage("{}")
	}
	return append(b.buf[:len(b.buf):len(b.buf)], '}')
}
