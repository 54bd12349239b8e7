package agui_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/subjects"
)

// A stop aborts the request to the agent, wherever its answer is, and the stock client sees a run that was closed, with
// what there was of it.
func TestStopAbortsTheAgent(t *testing.T) {
	t.Parallel()
	r := load(t, "copilotkit-tools")
	chat := r.threadID(t)
	cuts := []int{0, 1, 5, 9, len(r.events) - 1} // before its answer, in a text, in a tool call, at the end
	came, gone := make(chan struct{}, len(cuts)), make(chan struct{}, len(cuts))
	u := newUpstream(t, func(a *asked) {
		if n := cuts[a.n]; n > 0 {
			a.say(frames(r.events[:n]...))
		}
		came <- struct{}{}
		a.hold(nil)
		gone <- struct{}{}
	})
	c := newChain(t, u.url)
	var jobs []job
	for range cuts {
		jobs = append(jobs, job{r.input, c.chat})
	}
	client := start(t, jobs...)
	for _, n := range cuts {
		client.await(came)
		run := c.stored(chat, n)
		c.post(http.StatusAccepted, "/chat/stop", `{"chat_id":%q,"run_id":%q}`, chat, run)
		client.await(gone)
		require.Equal(t, subjects.ReasonStopped, c.over(run).End.Reason)
	}
	for i, n := range cuts {
		got := client.verdict(i)
		require.Equal(t, "finished", got.Outcome, "after %d: %+v", n, got.Error)
		require.Contains(t, string(got.Events[len(got.Events)-1]), `"outcome":{"type":"cancelled"}`, "after %d", n)
		if n > 5 {
			require.Contains(t, string(got.Messages), "the weather in Kraków")
		}
	}
	saved := c.saved(chat)
	require.Len(t, saved, len(cuts))
	for _, turn := range saved {
		require.Equal(t, subjects.ReasonStopped, turn.Reason)
	}
}
