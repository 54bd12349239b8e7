package config

import "strings"

// Shown is what was typed, as an error may repeat it to a terminal or a log: what stands
// before an @ may be a password, and is left out.
func Shown(s string) string {
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return s
	}
	scheme, _, ok := strings.Cut(s[:at], "://")
	if !ok {
		return "…" + s[at:]
	}
	return scheme + "://…" + s[at:]
}
