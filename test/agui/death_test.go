package agui_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/producer/agui"
	"github.com/rejoin/rejoin/subjects"
)

// death is one way in which an agent fails, and how many events of the recording it had sent.
type death struct {
	name   string
	die    func(*asked)
	events int
}

// deaths of the agent of a recording: its answer ends, or breaks, anywhere before the end of its last event; and it
// refuses, sends what is none, or says nothing any more.
func deaths(r recording) (all []death) {
	body := string(r.sse)
	end := strings.LastIndex(body, "}")
	for i := range 16 {
		cut := 1 + i*(end-1)/16
		clean := strings.Count(body[:cut]+"\n\n", "}\n\n") // an event that is whole counts
		all = append(all,
			death{fmt.Sprintf("ends at %d", cut), func(a *asked) { a.say([]byte(body[:cut])) }, clean},
			death{fmt.Sprintf("breaks at %d", cut), func(a *asked) {
				a.say([]byte(body[:cut]))
				panic(http.ErrAbortHandler)
			}, strings.Count(body[:cut], "\n\n")})
	}
	refuses := func(status int, kind, body string) func(*asked) {
		return func(a *asked) {
			a.w.Header().Set("Content-Type", kind)
			a.w.WriteHeader(status)
			_, _ = io.WriteString(a.w, body)
		}
	}
	half := r.events[:len(r.events)/2]
	return append(all,
		death{"fails", refuses(500, "application/json", `{"detail":"out of memory"}`), 0},
		death{"is not there", refuses(404, "text/html", "<html>"), 0},
		death{"has nothing", refuses(204, "text/event-stream", ""), 0},
		death{"is somewhere else", refuses(302, "text/html", ""), 0},
		death{"answers at once", refuses(200, "application/json", `{"messages":[]}`), 0},
		death{"sends nothing", refuses(200, "text/event-stream", ""), 0},
		death{"sends no event", func(a *asked) { a.say(append(frames(half...), "data: {}\n\n"...)) }, len(half)},
		death{"falls silent", func(a *asked) {
			a.say(frames(half...))
			a.hold(nil)
		}, len(half)},
		death{"never answers", func(a *asked) { a.hold(nil) }, 0},
	)
}

// However an agent dies, the stock client is told of an error and has what came before, and the run's end says so.
func TestStockClientIsToldOfAnAgentsDeath(t *testing.T) {
	t.Parallel()
	r := load(t, "copilotkit-tools")
	all := deaths(r)
	u := newUpstream(t, func(a *asked) { all[a.n].die(a) })
	made, err := agui.New(agui.Config{URL: u.url, IdleTimeout: 3 * time.Second})
	require.NoError(t, err)
	t.Cleanup(made.Close)
	c := newChainOf(t, app.AgentConfig{Custom: made})
	var bodies [][]byte
	var jobs []job
	for _, d := range all {
		bodies = append(bodies, append(frames(r.events[:d.events]...), runError...))
		jobs = append(jobs, job{r.input, c.chat})
	}
	jobs = append(jobs, served(t, r.input, bodies...)...)
	verdicts := read(t, jobs...)
	require.Len(t, u.requests(), len(all), "no request is repeated")
	for i, d := range all {
		got, want := verdicts[i], verdicts[len(all)+i]
		require.Equal(t, "error", got.Outcome, "%s: %+v", d.name, got.Error)
		require.JSONEq(t, string(want.Messages), string(got.Messages), d.name)
		require.JSONEq(t, string(want.State), string(got.State), d.name)
		var last struct{ Type, Code, Message string }
		require.NoError(t, json.Unmarshal(got.Events[len(got.Events)-1], &last))
		require.Equal(t, "RUN_ERROR", last.Type)
		require.Equal(t, "agent_error", last.Code)
		require.NotContains(t, last.Message, u.url[len("http://"):], "where the agent is, is nobody's business")
	}
	saved, err := history.Open(c.relay.Store).Read(c.within(), "", r.threadID(t), history.MaxLimit)
	require.NoError(t, err)
	require.Len(t, saved, len(all))
	for _, turn := range saved {
		require.Equal(t, subjects.ReasonError, turn.Reason)
	}
}
