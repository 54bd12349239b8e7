package consumer

import (
	"bytes"
	"iter"
)

// The scan below walks JSON that json.Valid has accepted and hands out raw
// values. encoding/json would do, but for two of its habits: it matches names in
// any case, so that "TYPE" could override "type", and it keeps one slice per
// element of an array that can hold 100,000 events.

const jsonSpace = " \t\r\n"

// members yields the raw keys, quotes included, and raw values of a valid JSON object.
func members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for rest := bytes.TrimLeft(object, jsonSpace)[1:]; ; {
			if rest = bytes.TrimLeft(rest, jsonSpace+","); rest[0] == '}' {
				return
			}
			key := rest[:valueLen(rest)]
			rest = bytes.TrimLeft(rest[len(key):], jsonSpace+":")
			value := rest[:valueLen(rest)]
			rest = rest[len(value):]
			if !yield(key, value) {
				return
			}
		}
	}
}

// elements yields the raw elements of a valid JSON array.
func elements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for rest := array[1:]; ; {
			if rest = bytes.TrimLeft(rest, jsonSpace+","); rest[0] == ']' {
				return
			}
			value := rest[:valueLen(rest)]
			rest = rest[len(value):]
			if !yield(value) {
				return
			}
		}
	}
}

// valueLen is the length of the valid JSON value that b begins with. It does not
// recurse: how deep an event is nested is the producer's choice.
func valueLen(b []byte) int {
	switch b[0] {
	case '"':
		return stringLen(b)
	case '{', '[':
	default:
		if n := bytes.IndexAny(b, ",]}"+jsonSpace); n >= 0 {
			return n
		}
		return len(b)
	}
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i += stringLen(b[i:]) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(b)
}

// stringLen is the length of the valid JSON string that b begins with, quotes included.
func stringLen(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}
