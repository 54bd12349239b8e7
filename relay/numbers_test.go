package relay_test

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// number reads one series from /metrics, 0 where there is none.
func (f *fabric) number(series string) float64 {
	f.t.Helper()
	body := f.do(http.MethodGet, "/metrics", "").body
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindStringSubmatch(body)
	if m == nil {
		return 0
	}
	v, err := strconv.ParseFloat(m[1], 64)
	require.NoError(f.t, err)
	return v
}

// eventually waits until a series has a value, as those do that are counted when a
// handler returns. A number gives no signal when it changes.
func (f *fabric) eventually(series string, want float64) {
	f.t.Helper()
	for deadline := time.Now().Add(patience); f.number(series) != want; {
		if time.Now().After(deadline) {
			f.t.Fatalf("%s is %v, want %v", series, f.number(series), want)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (f *fabric) waiting(n float64)  { f.t.Helper(); f.eventually("rejoin_waiters", n) }
func (f *fabric) watching(n float64) { f.t.Helper(); f.eventually("rejoin_observers", n) }

// series lists what /metrics has, without the values.
func (f *fabric) series() []string {
	f.t.Helper()
	var all []string
	for line := range strings.Lines(f.do(http.MethodGet, "/metrics", "").body) {
		if !strings.HasPrefix(line, "#") {
			all = append(all, line[:strings.LastIndexByte(line, ' ')])
		}
	}
	return all
}
