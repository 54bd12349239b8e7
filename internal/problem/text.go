package problem

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxShown bounds each string of an answer, in bytes: enough for a sentence
// or two, too little to be worth smuggling anything in.
const maxShown = 512

// clean makes a string of whatever origin fit to be shown: bounded, valid
// UTF-8, no control characters and none that reorder or hide text.
func clean(s string) string {
	cut := false
	if len(s) > maxShown {
		end := maxShown
		for end > 0 && !utf8.RuneStart(s[end]) {
			end--
		}
		s, cut = s[:end], true
	}
	s = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return utf8.RuneError
		}
		return r // an invalid byte arrives as RuneError and stays so
	}, s)
	if cut {
		s += "…"
	}
	return s
}

// loneSurrogate says whether valid JSON has, as an escape, half of a surrogate
// pair without the other. encoding/json replaces such an escape silently.
func loneSurrogate(raw []byte) bool {
	expectLow := false
	for i := 0; i < len(raw); {
		kind, size := unit(raw[i:])
		if expectLow != (kind == low) {
			return true
		}
		expectLow = kind == high
		i += size
	}
	return expectLow
}

type half int

const (
	none half = iota
	high
	low
)

// unit reads one byte or one escape and says which half of a pair it is.
func unit(raw []byte) (half, int) {
	if raw[0] != '\\' || len(raw) < 2 {
		return none, 1
	}
	if raw[1] != 'u' || len(raw) < 6 {
		return none, 2
	}
	if raw[2]|0x20 != 'd' {
		return none, 6
	}
	switch raw[3] | 0x20 { // lower case; digits have that bit already
	case '8', '9', 'a', 'b':
		return high, 6
	case 'c', 'd', 'e', 'f':
		return low, 6
	}
	return none, 6
}
