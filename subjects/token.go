package subjects

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// MaxOutside is the length in bytes that an outside string (a chat id, a tenant,
// an owner) may have. Its token is at most three times as long, so that the
// longest key stays far below the 4,096 bytes at which the broker closes the
// connection for everyone who shares it.
const MaxOutside = 256

// Errors of Token, ParseToken and CheckChatID.
var (
	ErrTooLong = errors.New("longer than 256 bytes")
	ErrEmpty   = errors.New("empty")
	ErrUTF8    = errors.New("not valid UTF-8")
	ErrToken   = errors.New("not an encoded token")
)

// emptyToken stands for the empty string: an escape is always three bytes long,
// so a lone underscore is free.
const emptyToken = "_"

// Token encodes any outside string as one token for a subject or a key. It is
// injective and harmless: letters, digits and the dash stay as they are, every
// other byte becomes "_" and two hexadecimal digits, so "a.b", "a_b", "A", "*"
// and both normal forms of "é" stay distinct and nothing is a wildcard. The only
// error is ErrTooLong.
func Token(s string) (string, error) {
	if len(s) > MaxOutside {
		return "", fmt.Errorf("%w (%d)", ErrTooLong, len(s))
	}
	if s == "" {
		return emptyToken, nil
	}
	const hex = "0123456789ABCDEF"
	out := make([]byte, 0, len(s)+8)
	for i := range len(s) {
		if c := s[i]; plain(c) {
			out = append(out, c)
		} else {
			out = append(out, '_', hex[c>>4], hex[c&15])
		}
	}
	return string(out), nil
}

// ParseToken is the inverse of Token. It accepts exactly what Token gives;
// anything else is ErrToken or ErrTooLong.
func ParseToken(token string) (string, error) {
	if token == emptyToken {
		return "", nil
	}
	out := make([]byte, 0, len(token))
	for i := 0; i < len(token); i++ {
		c := token[i]
		if plain(c) {
			out = append(out, c)
			continue
		}
		if c != '_' || i+2 >= len(token) {
			return "", ErrToken
		}
		hi, lo := unhex(token[i+1]), unhex(token[i+2])
		b := byte(hi<<4 | lo)
		if hi < 0 || lo < 0 || plain(b) {
			return "", ErrToken
		}
		out = append(out, b)
		i += 2
	}
	if len(out) == 0 {
		return "", ErrToken
	}
	if len(out) > MaxOutside {
		return "", ErrTooLong
	}
	return string(out), nil
}

// CheckChatID says whether s may name a chat: 1 to 256 bytes of valid UTF-8,
// control characters included. The error is ErrEmpty, ErrTooLong or ErrUTF8.
func CheckChatID(s string) error {
	switch {
	case s == "":
		return ErrEmpty
	case len(s) > MaxOutside:
		return fmt.Errorf("%w (%d)", ErrTooLong, len(s))
	case !utf8.ValidString(s):
		return ErrUTF8
	}
	return nil
}

func plain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-'
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
