package agui_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/subjects"
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
		if a.n%3 < 2 { // to the client itself, and the first time to the worker
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
		jobs = append(jobs, job{r.input, u.url}, job{r.input, c.chat}, job{r.input, c.chat})
	}
	verdicts := read(t, jobs...)
	requests := u.requests()
	require.Len(t, requests, len(jobs))
	stepwise := behindSteps(t)
	for i, r := range recordings(t) {
		direct := verdicts[3*i]
		for k := 3*i + 1; k < 3*i+3; k++ {
			if r.name == stepwise.name {
				requireSame(t, stepwise.verdict, verdicts[k])
			} else {
				requireSame(t, direct, verdicts[k])
			}
			require.Equal(t, requests[3*i].body, requests[k].body, r.name)
		}
		saved := c.saved(r.threadID(t))
		require.Len(t, saved, 2, r.name)
		for _, turn := range saved {
			require.Equal(t, requests[3*i].body, string(turn.Input))
			reason := subjects.ReasonDone
			if direct.Outcome == "error" {
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
