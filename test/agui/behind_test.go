package agui_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// The claim of `--agent agui`: a stock client that posts to a relay, behind which a worker asks a stock agent, ends up
// with what the agent itself leaves it with, is given the same events, and the agent is asked the same. However the
// agent's bytes come.
func TestStockAgentsBehindAWorker(t *testing.T) {
	t.Parallel()
	all := map[string]recording{}
	for _, r := range recordings(t) {
		all[r.threadID(t)] = r
	}
	u := newUpstream(t, func(a *asked) {
		body := all[a.ThreadID].sse
		if a.n%2 == 0 {
			a.say(body)
			return
		}
		for len(body) > 0 { // somewhere in the middle of everything
			n := min(len(body), 97)
			a.say(body[:n])
			body = body[n:]
		}
	})
	c := newChain(t, u.url)
	var jobs []job
	for _, r := range recordings(t) {
		jobs = append(jobs, job{r.input, u.url}, job{r.input, c.chat})
	}
	for _, r := range reloadable(t) { // not those that a client leaves in the middle, while they go on
		jobs = append(jobs, job{r.input, u.url}, job{r.input, u.url}, job{r.input, c.chat})
	}
	verdicts := read(t, jobs...)
	requests := u.requests()
	require.Len(t, requests, len(jobs))
	stepwise := behindSteps(t)
	direct, times := map[string]verdict{}, map[string]int{}
	for i, got := range verdicts {
		r := all[requests[i].ThreadID]
		switch {
		case jobs[i].url == u.url:
			direct[r.name] = got
			continue
		case r.name == stepwise.name:
			requireSame(t, stepwise.verdict, got)
		default:
			requireSame(t, direct[r.name], got)
		}
		times[r.name]++
		require.Equal(t, requests[i-1].body, requests[i].body, r.name)
	}
	for _, r := range all {
		harness.Eventually(t, "every run is saved", func() bool { return len(c.saved(r.threadID(t))) == times[r.name] })
		for _, turn := range c.saved(r.threadID(t)) {
			reason := subjects.ReasonDone
			if direct[r.name].Outcome == "error" {
				reason = subjects.ReasonError
			}
			require.Equal(t, reason, turn.Reason, r.name)
		}
	}
}

// behindSteps is what the stock client makes of the recording whose agent goes on after RUN_FINISHED, with that event in
// the form that ends nothing. From the agent itself it does not take such a run.
func behindSteps(t *testing.T) (out struct {
	name    string
	verdict verdict
}) {
	t.Helper()
	out.name = "tanstack-tools"
	r := load(t, out.name)
	events := bytes.Split(joined(r.events), []byte("\n"))
	events = events[:len(r.events)]
	aside := 0
	for i, event := range events[:len(events)-1] {
		var e agui.Event
		require.NoError(t, agui.Scan(event, &e))
		if e.Type == agui.RunFinished {
			events[i] = []byte(`{"type":"RAW","event":` + string(event) + `}`)
			aside++
		}
	}
	require.Equal(t, 1, aside)
	out.verdict = read(t, job{r.input, agent(t, frames(events...))})[0]
	require.Equal(t, "finished", out.verdict.Outcome)
	require.Contains(t, string(out.verdict.Messages), "umbrella")
	return out
}
