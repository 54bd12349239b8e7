package problem

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"
	"unicode/utf8"
)

// DecodeBody reads a request's body, at most limit bytes, as one JSON object
// into the struct that v points to.
//
// Only fields with a json tag are filled, by exact name; unknown members are
// ignored, and null is the same as absent. The returned *Error is too_large,
// or bad_request saying where the body is no JSON object, which field is
// wrong, and what is allowed there. A string with an escape that is no
// character (half of a surrogate pair) is refused, since decoding would
// silently change it; a json.RawMessage field is kept byte for byte and not
// looked into.
func DecodeBody(r *http.Request, limit int64, v any) error {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, limit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return New(TooLarge, "the body is larger than %d bytes, which is the most allowed here", large.Limit)
	case err != nil:
		return New(BadRequest, "the body did not arrive whole").Because(err)
	}
	return Decode(body, v)
}

// What is read of a body after it was found too large, and for how long.
const (
	lingerBytes = 16 << 20
	lingerTime  = time.Second
)

// Linger reads on for a moment what is left of a body that is too large. A client that is
// still sending when the connection is closed never sees the answer, only that it cannot
// send.
func Linger(w http.ResponseWriter, rest io.Reader) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(lingerTime))
	_, _ = io.CopyN(io.Discard, rest, lingerBytes)
}

// Decode is DecodeBody for bytes that have been read already.
func Decode(body []byte, v any) error {
	members, err := object(body)
	if err != nil {
		return err
	}
	return fill(members, v)
}

// object splits a JSON object into its members. Of members of the same name
// the last one counts.
func object(body []byte) (map[string]json.RawMessage, error) {
	if at := invalidUTF8(body); at >= 0 {
		return nil, New(BadRequest, "the body is not valid UTF-8 at byte %d", at)
	}
	first := bytes.TrimLeft(body, " \t\r\n")
	if len(first) == 0 {
		return nil, New(BadRequest, "the body is empty; a JSON object is needed")
	}
	var members map[string]json.RawMessage
	err := json.Unmarshal(body, &members)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, New(BadRequest, "the body is not one JSON object: %s at byte %d", syntax.Error(), syntax.Offset)
	case first[0] != '{':
		return nil, New(BadRequest, "the body is JSON but no object; a JSON object is needed")
	case err != nil:
		return nil, New(BadRequest, "the body is not one JSON object").Because(err)
	}
	return members, nil
}

// invalidUTF8 is the offset of the first byte that is not UTF-8, -1 if none.
func invalidUTF8(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	for at := 0; at < len(b); {
		r, size := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && size <= 1 {
			return at
		}
		at += size
	}
	return -1
}
