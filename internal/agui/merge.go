package agui

import "bytes"

// MaxDelta is how long a merged delta may become, in bytes as written. It
// bounds what one event of a snapshot can ask of a client's JSON parser.
const MaxDelta = 1 << 20

// index finds the delta and the timestamp among the fields and reports
// whether the event can be held against another field by field: no key occurs
// twice, and the delta is a string.
func (e *Event) index() bool {
	for i := range e.n {
		key := e.key(i)
		for j := range i {
			if bytes.Equal(key, e.key(j)) {
				return false
			}
		}
		switch string(key) {
		case "delta":
			e.delta = i
		case "timestamp":
			e.timestamp = i
		}
	}
	return e.delta >= 0 && e.Raw[e.fields[e.delta].value.from] == '"'
}

func (e *Event) key(i int) []byte   { return e.fields[i].key.of(e.Raw) }
func (e *Event) value(i int) []byte { return e.fields[i].value.of(e.Raw) }

// differsOnly reports whether two mergeable events are equal, byte by byte, in
// every field but delta and timestamp. The order of fields and the white space
// between them carry no meaning and do not count.
func differsOnly(a, b *Event) bool {
	if a.Type != b.Type || a.compared() != b.compared() {
		return false
	}
	for i := range a.n {
		if i == a.delta || i == a.timestamp {
			continue
		}
		j := i // where it stands if both are written alike
		if j >= b.n || !bytes.Equal(a.key(i), b.key(j)) {
			if j = b.find(a.key(i)); j < 0 {
				return false
			}
		}
		if !bytes.Equal(a.value(i), b.value(j)) {
			return false
		}
	}
	return true
}

// compared is how many fields take part in a comparison.
func (e *Event) compared() int {
	n := e.n - 1 // delta
	if e.timestamp >= 0 {
		n--
	}
	return n
}

func (e *Event) find(key []byte) int {
	for i := range e.n {
		if bytes.Equal(key, e.key(i)) {
			return i
		}
	}
	return -1
}
