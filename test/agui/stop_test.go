package agui_test

import (
	"encoding/json"
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
	for _, n := range []int{0, 1, 5, 9, len(r.events) - 1} { // before its answer, in a text, in a tool call, at the end
		gone := make(chan struct{})
		asked1 := make(chan struct{})
		u := newUpstream(t, func(a *asked) {
			if n > 0 {
				a.say(frames(r.events[:n]...))
			}
			close(asked1)
			a.hold(nil)
			close(gone)
		})
		c := newChain(t, u.url)
		client := start(t, job{r.input, c.chat})
		client.await(asked1)
		chat := r.threadID(t)
		run := c.stored(chat, n)
		c.post(http.StatusAccepted, "/chat/stop", `{"chat_id":%q,"run_id":%q}`, chat, run)
		client.await(gone)
		got := client.verdict(0)
		require.Equal(t, "finished", got.Outcome, "after %d: %+v", n, got.Error)
		last := got.Events[len(got.Events)-1]
		require.Contains(t, string(last), `"outcome":{"type":"cancelled"}`, "after %d", n)
		require.Equal(t, subjects.ReasonStopped, c.over(run).End.Reason)
		var messages []struct{ Role string }
		require.NoError(t, json.Unmarshal(got.Messages, &messages))
		require.Equal(t, subjects.ReasonStopped, c.saved(chat)[0].Reason)
		if n > 5 {
			require.Contains(t, string(got.Messages), "the weather in Kraków")
		}
	}
}
