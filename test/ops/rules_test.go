package ops_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// alerts checks that every metric that an alert names exists in what the processes say, with
// the labels it asks for, and that every alert says what to do.
func alerts(t *testing.T, said string) {
	t.Helper()
	file, err := os.ReadFile("../../deploy/prometheus/rules.yaml")
	require.NoError(t, err)
	exprs := regexp.MustCompile(`(?m)^ +expr: (.*)$`).FindAllStringSubmatch(string(file), -1)
	require.Greater(t, len(exprs), 10)
	for _, member := range []string{"alert", "labels", "summary", "do"} {
		require.Len(t, regexp.MustCompile(`(?m)^ +(- )?`+member+": .").FindAllString(string(file), -1), len(exprs), member)
	}
	selector := regexp.MustCompile(`((?:rejoin|process)_[a-z_]+)(?:\{([^}]*)\})?`)
	matcher := regexp.MustCompile(`([a-z]+)!?="([^"]*)"`)
	for _, expr := range exprs {
		found := selector.FindAllStringSubmatch(expr[1], -1)
		require.NotEmpty(t, found, expr[1])
		for _, s := range found {
			require.Contains(t, said, "\n"+s[1], expr[1])
			for _, m := range matcher.FindAllStringSubmatch(s[2], -1) {
				series := regexp.QuoteMeta(s[1]) + `\{[^}]*` + m[1] + `="`
				if m[1] != "status" && m[1] != "route" { // those are there once they were asked for
					series += regexp.QuoteMeta(m[2]) + `"`
				}
				require.Regexp(t, `(?m)^`+series, said, expr[1])
			}
		}
	}
}
