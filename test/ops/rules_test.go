package ops_test

import (
	"os"
	"regexp"
	"strings"
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
	selector := regexp.MustCompile(`((?:rejoin|process)_[a-z_]+)(?:\{([a-z]+)!?="([a-z0-9_]+)"\})?`)
	for _, expr := range exprs {
		found := selector.FindAllStringSubmatch(expr[1], -1)
		require.NotEmpty(t, found, expr[1])
		for _, s := range found {
			series := s[1]
			if s[2] != "" {
				series += "{" + s[2] + `="` + s[3] + `"`
			}
			exists := strings.Contains(said, "\n"+series)
			if s[2] == "status" { // which is there once it has happened
				exists = strings.Contains(said, "\n"+s[1]+"{")
			}
			require.True(t, exists, "%s in %s", series, expr[1])
		}
	}
}
