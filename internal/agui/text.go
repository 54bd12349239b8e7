package agui

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Eight bytes are looked at in one go. In a byte below 0x80, the high bit of
// (c^'"')-1, of (c^'\\')-1 and of c-0x20 is set exactly when c is a quote, a
// backslash or a control character; the borrows that a hit causes only reach
// bytes after it, and only the first hit is used.
const (
	each     = 0x0101010101010101
	highBits = 0x80 * each
	quotes   = '"' * each
	slashes  = '\\' * each
	blanks   = 0x20 * each
)

// text reads a string whose opening quote stands before b[i]. end is where its
// closing quote stands, so that b[i:end] is its body as written.
func text(b []byte, i int) (end int, escaped bool, err *SyntaxError) {
	for {
		for i+8 <= len(b) {
			x := binary.LittleEndian.Uint64(b[i:])
			hit := (((x ^ quotes) - each) | ((x ^ slashes) - each) | (x - blanks) | x) & highBits
			if hit != 0 {
				i += bits.TrailingZeros64(hit) / 8
				break
			}
			i += 8
		}
		if i >= len(b) {
			return i, escaped, fail(i, ErrSyntax, `the event ends within a string; a closing quote is missing`)
		}
		switch c := b[i]; {
		case c == '"':
			return i, escaped, nil
		case c == '\\':
			if i, err = escape(b, i); err != nil {
				return i, true, err
			}
			escaped = true
		case c >= utf8.RuneSelf:
			if i, err = runes(b, i); err != nil {
				return i, escaped, err
			}
		case c < 0x20:
			return i, escaped, fail(i, ErrSyntax, `a control character stands in a string as `+found(b, i)+`; allowed is an escape such as \n or \u0000`)
		default:
			i++
		}
	}
}

// escape reads the escape at b[i] and returns where it ends. Lone surrogates
// are legal JSON and pass: the other half may come in the next delta.
func escape(b []byte, i int) (int, *SyntaxError) {
	if i+1 < len(b) {
		switch b[i+1] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			return i + 2, nil
		case 'u':
			for j := i + 2; j < i+6; j++ {
				if j >= len(b) || !isHex(b[j]) {
					return j, unexpected(b, j, `four hexadecimal digits after \u`)
				}
			}
			return i + 6, nil
		}
	}
	return i + 1, unexpected(b, i+1, `one of " \ / b f n r t u after a backslash`)
}

// runes reads the non-ASCII characters at b[i] and returns where they end.
func runes(b []byte, i int) (int, *SyntaxError) {
	for i < len(b) && b[i] >= utf8.RuneSelf {
		// Most of Chinese, Japanese and Korean: three bytes that need no closer look.
		if i+2 < len(b) && b[i]-0xe1 <= 0xec-0xe1 && b[i+1]&0xc0 == 0x80 && b[i+2]&0xc0 == 0x80 {
			i += 3
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i, fail(i, ErrUTF8, found(b, i)+` is not part of a UTF-8 character; allowed is valid UTF-8`)
		}
		i += n
	}
	return i, nil
}

// plain writes the string whose body is given to dst, its escapes resolved, if
// none is beyond U+00FF and the room suffices. It serves to recognise a name
// that somebody escaped, and all names here are short and ASCII.
func plain(dst, body []byte) ([]byte, bool) {
	for i := 0; i < len(body); {
		c := body[i]
		i++
		if c == '\\' {
			c = body[i]
			i++
			switch c {
			case 'b':
				c = '\b'
			case 'f':
				c = '\f'
			case 'n':
				c = '\n'
			case 'r':
				c = '\r'
			case 't':
				c = '\t'
			case 'u':
				if body[i] != '0' || body[i+1] != '0' {
					return nil, false
				}
				c = unhex(body[i+2])<<4 | unhex(body[i+3])
				i += 4
			}
		}
		if len(dst) == cap(dst) {
			return nil, false
		}
		dst = append(dst, c)
	}
	return dst, true
}

func isHex(c byte) bool {
	return c-'0' <= 9 || (c|0x20)-'a' <= 5
}

// unhex is the value of a digit for which isHex holds.
func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return (c | 0x20) - 'a' + 10
}
