package main

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// hostile says whether a character may do something to a terminal or to the order of
// what it shows, instead of being shown.
func hostile(r rune) bool {
	switch {
	case unicode.IsControl(r), r == utf8.RuneError:
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // direction overrides
		return true
	}
	return r == 0x2028 || r == 0x2029
}

// printable is one line of text from outside as it may be shown: what would act on a
// terminal is escaped.
func printable(s string) string { return escape(s, false) }

// printableText is text of several lines: line breaks and tabs stay.
func printableText(s string) string { return escape(s, true) }

func escape(s string, lines bool) string {
	clean := true
	for _, r := range s {
		if hostile(r) && !(lines && (r == '\n' || r == '\t')) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd"):
			b.WriteString(`\x`)
			b.WriteString(strconv.FormatUint(uint64(s[i])|0x100, 16)[1:])
		case r == utf8.RuneError, !hostile(r), lines && (r == '\n' || r == '\t'):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// jsonForTerminal is JSON that means the same and does nothing to a terminal. Such
// characters stand only in strings, where they may be escaped, save for the white
// space below ' ', which stands only between tokens.
func jsonForTerminal(b []byte) []byte {
	s := string(b)
	if strings.IndexFunc(s, hostile) < 0 {
		return b
	}
	var out []byte
	for _, r := range s {
		if !hostile(r) || r < ' ' || r == utf8.RuneError {
			out = utf8.AppendRune(out, r)
			continue
		}
		out = append(out, `\u`...)
		out = append(out, strconv.FormatUint(uint64(r)|0x10000, 16)[1:]...)
	}
	return out
}

// shorten cuts text to about n characters.
func shorten(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i] + "…"
		}
		n--
	}
	return s
}
