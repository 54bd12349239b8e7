package ops_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/test/harness"
)

// numbers is what a process says at /metrics.
func numbers(t *testing.T, url string) string {
	t.Helper()
	c, err := harness.Ask(bounded(t), http.MethodGet, url+"/metrics", "")
	require.NoError(t, err)
	body, err := c.Rest()
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, c.Status, body)
	return body
}

// seriesOf lists the series, without their values.
func seriesOf(metrics string) (series []string) {
	for line := range strings.Lines(metrics) {
		if !strings.HasPrefix(line, "#") {
			series = append(series, line[:strings.LastIndexByte(line, ' ')])
		}
	}
	slices.Sort(series)
	return series
}

// value is what a series says, "" where there is none.
func value(metrics, series string) string {
	for line := range strings.Lines(metrics) {
		if v, ok := strings.CutPrefix(line, series+" "); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// named checks that every number is named by Prometheus's conventions and explained.
func named(t *testing.T, metrics string) {
	t.Helper()
	problems, err := promlint.New(strings.NewReader(metrics)).Lint()
	require.NoError(t, err)
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "rejoin_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	helped := map[string]bool{}
	for line := range strings.Lines(metrics) {
		switch words := strings.SplitN(strings.TrimSpace(line), " ", 4); {
		case words[0] != "#":
		case words[1] == "HELP":
			helped[words[2]] = len(words) == 4 && words[3] != ""
		case words[1] == "TYPE":
			require.True(t, helped[words[2]], "%s has no help", words[2])
		}
	}
}
