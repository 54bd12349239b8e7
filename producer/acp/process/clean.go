package process

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes one line of at most max bytes of what a process has said: valid UTF-8
// without control characters and terminal escape sequences.
func Clean(said []byte, max int) string {
	var b strings.Builder
	cut := false
	for len(said) > 0 && !cut {
		if n := escape(said); n > 0 {
			said = said[n:]
			continue
		}
		r, n := utf8.DecodeRune(said)
		said = said[n:]
		if !unicode.IsPrint(r) {
			r = ' '
		}
		cut = b.Len()+utf8.RuneLen(r) > max
		if !cut {
			b.WriteRune(r)
		}
	}
	text := strings.TrimSpace(b.String())
	if cut {
		text += "…"
	}
	return text
}

// escape is the length of the control sequence (ESC [ … letter) or title (ESC ] … BEL)
// that said begins with, or 0.
func escape(said []byte) int {
	if len(said) < 2 || said[0] != 0x1b {
		return 0
	}
	for i, c := range said[2:] {
		switch {
		case said[1] == '[' && c >= 0x40 && c <= 0x7e, said[1] == ']' && c == 7:
			return i + 3
		case c == '\n':
			return 0
		}
	}
	return 0
}
