package translate

import (
	"encoding/json"
	"slices"
)

// record is a JSON object whose values are kept as they were written. Its keys stay in
// the order in which they came.
type record struct {
	keys   []string
	values map[string]json.RawMessage
	size   int // bytes of all keys and values
}

// merge takes the fields of an update: a field that is there replaces, one that is
// null or missing leaves what was.
func (r *record) merge(update *record) {
	for _, key := range update.keys {
		value := update.values[key]
		if _, had := r.values[key]; had && isNull(value) {
			continue
		}
		r.set(key, value)
	}
}

func (r *record) set(key string, value json.RawMessage) {
	if r.values == nil {
		r.values = map[string]json.RawMessage{}
	}
	old, had := r.values[key]
	if !had {
		r.keys = append(r.keys, key)
		r.size += len(key)
	}
	r.values[key] = value
	r.size += len(value) - len(old)
}

// without is a copy of the record that lacks some fields.
func (r *record) without(keys ...string) *record {
	out := &record{}
	for _, key := range r.keys {
		if !slices.Contains(keys, key) {
			out.set(key, r.values[key])
		}
	}
	return out
}

// filled is a copy of the record that lacks the fields that are null.
func (r *record) filled() *record {
	out := &record{}
	for _, key := range r.keys {
		if !isNull(r.values[key]) {
			out.set(key, r.values[key])
		}
	}
	return out
}

// essence is what a record is about, without what may be large.
func (r *record) essence() *record {
	out := &record{}
	for _, key := range []string{"toolCallId", "title", "kind", "status"} {
		if value := r.values[key]; len(value) > 0 && len(value) <= 4096 {
			out.set(key, value)
		}
	}
	return out
}

// json is the record as JSON.
func (r *record) json() json.RawMessage {
	out := []byte{'{'}
	for i, key := range r.keys {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, quote(key)...), ':')
		out = append(out, r.values[key]...)
	}
	return append(out, '}')
}

func isNull(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }
