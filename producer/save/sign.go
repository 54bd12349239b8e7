package save

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// SignatureHeader carries the signature of a webhook's request:
//
//	Rejoin-Signature: t=<unix seconds>,v1=<hex HMAC-SHA256 of "<t>.<body>">
const SignatureHeader = "Rejoin-Signature"

// DefaultTolerance is how old, or how far ahead, a signature may be for Verify where
// nothing else is asked for.
const DefaultTolerance = 5 * time.Minute

// maxSignatures bounds how many signatures of one header are looked at.
const maxSignatures = 8

func sign(secret string, body []byte, now time.Time) string {
	t := strconv.FormatInt(now.Unix(), 10)
	return "t=" + t + ",v1=" + hex.EncodeToString(digest(secret, t, body))
}

func digest(secret, t string, body []byte) []byte {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write([]byte(t))
	h.Write([]byte{'.'})
	h.Write(body)
	return h.Sum(nil)
}

// Verify is for receivers of the webhook: it says whether a request's body was signed
// with secret, and not longer ago than tolerance (0 means DefaultTolerance), which keeps
// a request that somebody recorded from being played back later. header is the value of
// SignatureHeader, body the bytes as they were received, before any decoding.
//
// The error wraps ErrSignature and says what is wrong, but not what would be right. An
// empty secret verifies nothing. During a change of secrets, verify with either.
func Verify(secret, header string, body []byte, now time.Time, tolerance time.Duration) error {
	if secret == "" {
		return fmt.Errorf("%w: no secret is configured", ErrSignature)
	}
	if tolerance <= 0 {
		tolerance = DefaultTolerance
	}
	t, given, err := parseSignature(header)
	if err != nil {
		return err
	}
	want := digest(secret, t, body)
	for _, sum := range given {
		if hmac.Equal(sum, want) {
			return fresh(t, now, tolerance)
		}
	}
	return fmt.Errorf("%w: it is not that of this body with this secret", ErrSignature)
}

func fresh(t string, now time.Time, tolerance time.Duration) error {
	seconds, err := strconv.ParseInt(t, 10, 64)
	if err != nil {
		return fmt.Errorf("%w: its time is %.40q", ErrSignature, t)
	}
	if off := now.Sub(time.Unix(seconds, 0)).Abs(); off > tolerance {
		return fmt.Errorf("%w: its time is off by %v, more than %v", ErrSignature, off.Round(time.Second), tolerance)
	}
	return nil
}

// parseSignature takes a header apart. Parts of versions that are not known are passed over.
func parseSignature(header string) (t string, sums [][]byte, err error) {
	if header == "" {
		return "", nil, fmt.Errorf("%w: there is none", ErrSignature)
	}
	for part := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "t":
			if t != "" {
				return "", nil, fmt.Errorf("%w: two times", ErrSignature)
			}
			t = value
		case "v1":
			sum, err := hex.DecodeString(value)
			if err == nil && len(sums) < maxSignatures {
				sums = append(sums, sum)
			}
		}
	}
	if t == "" || len(sums) == 0 {
		return "", nil, fmt.Errorf("%w: want t=<seconds>,v1=<hex>", ErrSignature)
	}
	return t, sums, nil
}
