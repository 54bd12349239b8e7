package ingest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"
)

// Limits of the small bodies, those that are one JSON object.
const (
	maxBody     = 64 << 10
	bodyTimeout = 30 * time.Second
)

// object holds the raw values of a body's fields. Names match exactly, which
// encoding/json's structs do not do, and null is the same as absent.
type object map[string]json.RawMessage

// readObject reads a body that is one JSON object, within size and time.
func readObject(w http.ResponseWriter, r *http.Request) (object, error) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, tooLarge("the body is larger than " + strconv.Itoa(maxBody) + " bytes")
	case err != nil:
		return nil, badRequest("the body did not arrive whole")
	}
	_ = rc.SetReadDeadline(time.Time{})
	if !utf8.Valid(body) {
		return nil, badRequest("the body is not valid UTF-8")
	}
	var in object
	if err := json.Unmarshal(body, &in); err != nil || in == nil {
		return nil, badRequest("the body is not one JSON object")
	}
	return in, nil
}

func (in object) has(name string) bool {
	v, ok := in[name]
	return ok && string(v) != "null"
}

// text is a string field, "" where it is absent.
func (in object) text(name string) (string, error) {
	if !in.has(name) {
		return "", nil
	}
	var s string
	if err := json.Unmarshal(in[name], &s); err != nil {
		return "", badRequest("%s is not a string, which it must be", name)
	}
	if loneSurrogate(in[name]) {
		return "", badRequest("%s has an escape that is no character; allowed is valid UTF-8", name)
	}
	return s, nil
}

func (in object) boolean(name string) (bool, error) {
	switch {
	case !in.has(name), string(in[name]) == "false":
		return false, nil
	case string(in[name]) == "true":
		return true, nil
	}
	return false, badRequest("%s is neither true nor false", name)
}

// loneSurrogate says whether a JSON string has half of a surrogate pair as an escape,
// which decoding silently replaces by another character.
func loneSurrogate(raw []byte) bool {
	high := false // the escape before was the first half of a pair
	for i := 0; i < len(raw); {
		unit, step := rune(0), 1
		if raw[i] == '\\' {
			step = 2
			if raw[i+1] == 'u' {
				n, _ := strconv.ParseUint(string(raw[i+2:i+6]), 16, 16)
				unit, step = rune(n), 6
			}
		}
		low := unit >= 0xdc00 && unit <= 0xdfff
		if high != low {
			return true
		}
		high = unit >= 0xd800 && unit <= 0xdbff
		i += step
	}
	return high
}
