package problem

import (
	"math"
	"strconv"
)

// Int is an integer field of a request: plain digits with at most a minus
// sign before them, within int64. A fraction, an exponent or a string is
// refused even where its value is whole: what one language sends as 1e3
// another reads as text. Null is the same as absent.
type Int struct {
	N   int64
	Set bool // false: the field was absent or null
}

// UnmarshalJSON implements json.Unmarshaler. Its error is an *Error without
// the field's name, which DecodeBody puts before it.
func (i *Int) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		*i = Int{}
		return nil
	}
	if !plainDigits(raw) {
		return New(BadRequest, "must be an integer in plain digits, without fraction, exponent or quotes")
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil { // digits only, so what remains is the range
		return New(BadRequest, "is out of range; allowed are integers up to %d", int64(math.MaxInt64))
	}
	*i = Int{N: n, Set: true}
	return nil
}

func plainDigits(raw []byte) bool {
	if len(raw) > 0 && raw[0] == '-' {
		raw = raw[1:]
	}
	for _, c := range raw {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(raw) > 0
}

// Or is the value, or def where the field was absent.
func (i Int) Or(def int64) int64 {
	if !i.Set {
		return def
	}
	return i.N
}

// Check is nil if the field is absent or within low and high, both included;
// else a bad_request that names the field.
func (i Int) Check(name string, low, high int64) error {
	if !i.Set || (low <= i.N && i.N <= high) {
		return nil
	}
	return New(BadRequest, "%s is %d; allowed are integers from %d to %d", name, i.N, low, high)
}
