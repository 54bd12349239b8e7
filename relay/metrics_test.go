package relay_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/relay"
)

// OPS-03: the number of series does not grow with what clients send, and nothing
// they send becomes a label.
func TestOPS03_SeriesAreConstant(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *relay.Config) {
		c.Producer = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	})
	everything := func(i int) {
		secret := fmt.Sprintf("SECRET%d", i)
		r := f.start(secret)
		r.deltas(1)
		f.live(fmt.Sprintf(`{"chat_id":%q,"protocol":1}`, secret)).until(1)
		r.finish(done)
		stop, cancel := context.WithCancel(t.Context())
		cancel()
		_, _ = f.client.Do(request(stop, t, http.MethodGet, f.url+"/livez", ""))
		for _, path := range []string{"/" + secret, "/runs/" + secret, "/runs/" + secret + "/snapshot", "/runs/" + secret + "/x/" + secret,
			"/chat/live?chat_id=" + secret, "/chat/live?protocol=" + secret, "/runs/" + r.id(), "/livez", "/readyz"} {
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete, secret} {
				f.do(method, path, secret)
			}
		}
		for _, path := range []string{"/runs", "/runs/" + secret + "/events", "/runs/" + secret + "/heartbeat", "/runs/" + secret + "/end"} {
			require.Equal(t, http.StatusAccepted, f.do(http.MethodPost, path, "").status)
		}
	}
	everything(0)
	f.watching(0)
	f.number("rejoin_observers") // so that asking for the numbers is counted, too
	before := f.series()
	for i := range 20 {
		everything(i + 1)
	}
	f.watching(0)
	after := f.series()
	slices.Sort(before)
	slices.Sort(after)
	require.Equal(t, before, after)
	require.Less(t, len(after), 500)
	for _, s := range after {
		require.NotContains(t, s, "SECRET")
		require.NotContains(t, s, "0-")
	}
	require.NotContains(t, f.logs.String(), "SECRET")
}

func TestMetricsAreNamedByConvention(t *testing.T) {
	t.Parallel()
	m := relay.NewMetrics(nil)
	families, err := m.Registry().Gather()
	require.NoError(t, err)
	require.NotEmpty(t, families)
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	require.NoError(t, err)
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "rejoin_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

func TestTheHubIsCounted(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	r := f.start("c")
	r.deltas(3)
	o := f.live(`{"chat_id":"c","protocol":1}`)
	o.until(3)
	require.Equal(t, 1.0, f.number("rejoin_tails"))
	require.Equal(t, 1.0, f.number(`rejoin_snapshots_total{cause="attach"}`))
	require.Equal(t, 1.0, f.number(`rejoin_frames_total{type="STREAM_SNAPSHOT"}`))
	r.finish(done)
	o.toEnd()
	f.eventually(`rejoin_streams_closed_total{cause="end"}`, 1)
	require.Equal(t, 1.0, f.number(`rejoin_streams_opened_total{wire="1"}`))
	require.Equal(t, 1.0, f.number("rejoin_catchup_seconds_count"))
	require.Positive(t, f.number("rejoin_stream_bytes_total"))
	require.Equal(t, 1.0, f.number(`rejoin_http_requests_total{method="POST",route="/chat/live",status="2xx"}`))

	reg := prometheus.NewRegistry()
	m := relay.NewMetrics(reg)
	require.Same(t, reg, m.Registry())
	hub := m.Hub()
	hub.Snapshot("an unknown one")
	hub.Gap()
	hub.Replay(-1)
	hub.SilenceFound()
}

// A stream's line in the log says what it was, and nothing that a client wrote.
func TestOneLinePerStream(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	r := f.start("a\nchat")
	r.deltas(2)
	r.finish(failed)
	f.live(`{"chat_id":"a\nchat","protocol":1}`).toEnd()
	f.eventually(`rejoin_streams_closed_total{cause="end"}`, 1)
	require.Equal(t, 1, strings.Count(f.logs.String(), "stream closed"))
	require.Regexp(t, `msg="stream closed" run=`+r.id()+` wire=1 cause=end frames=2 from=2 to=2 bytes=\d+ took=`, f.logs.String())
	require.NotContains(t, f.logs.String(), "chat")
}
