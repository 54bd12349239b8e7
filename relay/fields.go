package relay

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"
)

// object holds the raw values of a request's fields. Names match exactly, which
// encoding/json's structs do not do, and null is the same as absent.
type object map[string]json.RawMessage

// readObject reads a body that is one JSON object, within size and time.
func readObject(w http.ResponseWriter, r *http.Request, limit int64) (object, int, error) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, 0, tooLarge(limit)
	case err != nil:
		return nil, 0, badRequest("the body did not arrive whole")
	}
	// From here on the connection is watched for the client leaving.
	_ = rc.SetReadDeadline(time.Time{})
	if !utf8.Valid(body) {
		return nil, 0, badRequest("the body is not valid UTF-8")
	}
	var in object
	if err := json.Unmarshal(body, &in); err != nil || in == nil {
		return nil, 0, badRequest("the body is not one JSON object")
	}
	return in, len(body), nil
}

// queryObject gives a query's parameters the form of a body's fields. An empty
// parameter is the same as none.
func queryObject(raw string, strings ...string) (object, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, badRequest("the query is malformed")
	}
	in := object{}
	for name := range values {
		if v := values.Get(name); v != "" {
			in[name] = json.RawMessage(v)
		}
	}
	for _, name := range strings {
		v, ok := in[name]
		if !ok {
			continue
		}
		if !utf8.Valid(v) {
			return nil, badRequest(name + " is not valid UTF-8")
		}
		in[name], _ = json.Marshal(string(v)) // a string always marshals
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
		return "", badRequest(name + " is not a string, which it must be")
	}
	if loneSurrogate(in[name]) {
		return "", badRequest(name + ` has an escape that is no character; allowed is valid UTF-8`)
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
	return false, badRequest(name + " is neither true nor false")
}

// integer is a field of plain digits, nil where it is absent. Above most it is
// clamped or refused.
func (in object) integer(name string, most uint64, clamp bool) (*uint64, error) {
	if !in.has(name) {
		return nil, nil
	}
	raw := string(in[name])
	n, err := strconv.ParseUint(raw, 10, 64)
	digits := err == nil || errors.Is(err, strconv.ErrRange)
	switch {
	case digits && n <= most: // ParseUint gives the largest number for one out of range
		return &n, nil
	case digits && clamp:
		return &most, nil
	}
	allowed := "an integer from 0 on"
	if !clamp {
		allowed = "an integer 0 … " + strconv.FormatUint(most, 10)
	}
	return nil, badRequest(name + " must be " + allowed + ", written as digits")
}

// loneSurrogate says whether a JSON string has half of a surrogate pair as an
// escape, which decoding would silently replace.
func loneSurrogate(raw []byte) bool {
	high := false
	for i := 0; i < len(raw); {
		var half int
		step := 1
		if raw[i] == '\\' {
			step = 2
			if rest := raw[i:]; len(rest) >= 6 && rest[1] == 'u' {
				step = 6
				half = surrogate(rest[2:6])
			}
		}
		if high != (half == lowHalf) {
			return true
		}
		high = half == highHalf
		i += step
	}
	return high
}

const (
	highHalf = 1
	lowHalf  = 2
)

// surrogate says which half four hexadecimal digits name, 0 for neither.
func surrogate(hex []byte) int {
	hex = bytes.ToLower(hex)
	if hex[0] != 'd' || hex[1] < '8' {
		return 0
	}
	if hex[1] == '8' || hex[1] == '9' || hex[1] == 'a' || hex[1] == 'b' {
		return highHalf
	}
	return lowHalf
}
