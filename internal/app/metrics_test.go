package app_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/app"
)

func (r *running) metrics() string {
	r.t.Helper()
	status, body := r.ask(http.MethodGet, "/metrics", "")
	require.Equal(r.t, http.StatusOK, status)
	return body
}

func series(metrics string) (n int) {
	for line := range strings.Lines(metrics) {
		if !strings.HasPrefix(line, "#") {
			n++
		}
	}
	return n
}

func value(metrics, name string) string {
	for line := range strings.Lines(metrics) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

func TestTheNumbersAreThere(t *testing.T) {
	t.Parallel()
	r := boot(t, app.Config{Version: "v1.2.3"})
	id := r.start(`{"chat_id":"c"}`)
	r.ask(http.MethodPost, "/runs/"+id+"/events", `{"type":"A"}`+"\n"+`{"type":"B"}`)
	r.ask(http.MethodPost, "/runs/"+id+"/end", `{}`)
	m := r.metrics()
	require.Equal(t, "1", value(m, "rejoin_runs_started_total"))
	require.Equal(t, "2", value(m, "rejoin_published_events_total"))
	require.Equal(t, "2", value(m, "rejoin_acked_events_total"))
	require.NotEmpty(t, value(m, "rejoin_acks_total"))
	require.Equal(t, value(m, "rejoin_acks_total"), value(m, "rejoin_ack_seconds_count"))
	require.Equal(t, "1", value(m, `rejoin_checkpoints_total{result="stored"}`))
	require.Equal(t, "1", value(m, `rejoin_runs_ended_total{persisted="false",reason="done",superseded="false"}`))
	require.Equal(t, "0", value(m, "rejoin_fences_total"))
	require.Equal(t, "1", value(m, "rejoin_broker_connected"))
	require.Contains(t, m, `version="v1.2.3"`)
	for _, name := range []string{"rejoin_observers", "rejoin_frames_total", "rejoin_snapshots_total", "rejoin_gaps_total",
		"rejoin_replayed_events_total", "rejoin_catchup_seconds", "rejoin_janitor_ended_total", "go_goroutines", "process_open_fds"} {
		require.Contains(t, m, "\n"+name, name)
	}
}

// OPS-03: whatever users send, the number of series stays, and none of it is in a label.
func TestOPS03SeriesStayAndNameNobody(t *testing.T) {
	t.Parallel()
	r := boot(t, app.Config{})
	const word = "zebra"
	send := func(i int) {
		name := fmt.Sprintf("%s%d", word, i)
		id := r.start(`{"chat_id":"` + name + `","owner":"` + name + `","kind":"` + name + `"}`)
		r.ask(http.MethodPost, "/runs/"+id+"/events", `{"type":"`+name+`"}`)
		r.ask(http.MethodPost, "/runs/"+id+"/events", name)
		r.ask(http.MethodPost, "/runs/"+id+"/end", `{"persisted":true,"reason":"`+name+`"}`)
		r.ask(http.MethodPost, "/runs/"+id+"/end", `{"persisted":true}`)
		r.ask(http.MethodPost, "/chat/live", `{"chat_id":"`+name+`","protocol":1}`)
		r.ask(http.MethodGet, "/runs/"+name+"/snapshot", "")
		r.ask(http.MethodGet, "/"+name, "")
		r.ask(http.MethodGet, "/chat/live?chat_id="+url.QueryEscape(name), "")
		r.ask(strings.ToUpper(name), "/chat/live", "")
		r.ask("DELETE", "/runs/"+name, "")
	}
	send(0)
	r.metrics() // so that its own request is counted
	before := series(r.metrics())
	for i := range 100 {
		send(i + 1)
	}
	after := r.metrics()
	require.Equal(t, before, series(after))
	require.Less(t, series(after), 500)
	require.NotContains(t, strings.ToLower(after), word)
	require.NotContains(t, after, `0-0`, "no run id")
}
