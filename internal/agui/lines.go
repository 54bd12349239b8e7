package agui

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
)

// OneLine returns valid JSON without the line breaks (\n, \r) between its
// tokens, which is the only place where it can have any; every other byte is
// kept. It returns raw itself when there are none and a copy otherwise.
func OneLine(raw []byte) []byte {
	i := bytes.IndexByte(raw, '\n')
	if j := bytes.IndexByte(raw, '\r'); j >= 0 && (i < 0 || j < i) {
		i = j
	}
	if i < 0 {
		return raw
	}
	out := append(make([]byte, 0, len(raw)-1), raw[:i]...)
	for _, c := range raw[i:] {
		if c != '\n' && c != '\r' {
			out = append(out, c)
		}
	}
	return out
}

// Lines yields the lines of NDJSON that are not empty, without their line
// breaks. They refer to ndjson.
func Lines(ndjson []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(ndjson) > 0 {
			line := ndjson[:len(ndjson):len(ndjson)]
			if i := bytes.IndexByte(ndjson, '\n'); i >= 0 {
				line, ndjson = ndjson[:i:i], ndjson[i+1:]
			} else {
				ndjson = nil
			}
			if len(line) > 0 && !yield(line) {
				return
			}
		}
	}
}

// AppendArray appends to dst a JSON array of all events of the given NDJSON
// parts in order, brackets included: [] when there are none.
func AppendArray(dst []byte, parts ...[]byte) []byte {
	size := len("[")
	for _, part := range parts {
		size += len(part) + len("]") // or a comma before the next
	}
	dst = append(slices.Grow(dst, size), '[')
	first := true
	for _, part := range parts {
		for line := range Lines(part) {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(dst, line...)
		}
	}
	return append(dst, ']')
}

// ArrayLines is the inverse of AppendArray: the elements of a JSON array, one a line.
func ArrayLines(array json.RawMessage) (ndjson []byte, err error) {
	var all []json.RawMessage
	if err := json.Unmarshal(array, &all); err != nil {
		return nil, err
	}
	for _, e := range all {
		ndjson = append(append(ndjson, OneLine(e)...), '\n')
	}
	return ndjson, nil
}

// Flatten turns the line breaks in raw JSON into spaces, in place. They can stand only
// between tokens, and one left in would end a line of NDJSON or of SSE.
func Flatten(raw []byte) {
	for _, br := range [...]byte{'\n', '\r'} {
		for rest := raw; ; {
			i := bytes.IndexByte(rest, br)
			if i < 0 {
				break
			}
			rest[i] = ' '
			rest = rest[i+1:]
		}
	}
}
