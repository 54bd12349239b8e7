package auth_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/test/harness"
)

// runView is what the outside knows of a run.
type runView struct {
	State     string
	Questions []struct {
		RequestID string `json:"request_id"`
	}
}

func (w *world) view(by who, run string) (v runView) {
	w.Helper()
	w.want(http.StatusOK, w.token(by), http.MethodGet, "/runs/"+run, "", &v)
	return v
}

// becomes waits until a run of somebody's is in a state.
func (w *world) becomes(by who, run, state string) (v runView) {
	w.Helper()
	harness.Eventually(w, "the run is "+state, func() bool {
		v = w.view(by, run)
		return v.State == state
	})
	return v
}

// active are the runs that somebody sees to be live.
func (w *world) active(by who) (runs []string) {
	w.Helper()
	c, err := harness.Ask(w.Context(), http.MethodGet, w.url+"/runs/active", "", append(as(w.token(by)), "Accept", "application/json")...)
	require.NoError(w, err)
	require.Equal(w, http.StatusOK, c.Status)
	text, err := c.Rest()
	require.NoError(w, err)
	var all struct {
		Runs []struct {
			RunID string `json:"run_id"`
		}
	}
	require.NoError(w, json.Unmarshal([]byte(text), &all), text)
	for _, r := range all.Runs {
		runs = append(runs, r.RunID)
	}
	return runs
}

// saved are the turns of the history, as texts.
func (w *world) saved(by who, chat string) string {
	w.Helper()
	return w.want(http.StatusOK, w.token(by), http.MethodGet, "/chat/"+chat+"/history", "", nil).body
}

// Everybody has a chat of one name. What they send, hear, are asked, answer, stop, had
// saved, are remembered for and see to be live is their own.
func TestChatsOfOneNameNeverMeet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	const chat = "c"
	everybody := map[who]string{ann: "acme-ann", bob: "acme-bob", elsewhere: "globex-ann"}
	for _, round := range []string{"first", "second"} { // the second has a history and a memory
		for by, name := range everybody {
			run := w.send(by, chat, round+" of "+name)
			w.becomes(by, run, "ended")
		}
	}
	for by, name := range everybody {
		history := w.saved(by, chat)
		require.Equal(t, 2, strings.Count(history, `"run_id"`), history)
		require.Contains(t, history, fmt.Sprintf("[|first of %s] [second of %s]", name, name), "what the agent remembers")
		for other, foreign := range everybody {
			if other != by {
				require.NotContains(t, history, foreign)
			}
		}
	}

	asking := map[who]string{}
	for by, name := range everybody {
		asking[by] = w.send(by, chat, "ask "+name)
	}
	for by, run := range asking {
		w.becomes(by, run, "waiting")
		require.Equal(t, []string{run}, w.active(by))
		c, err := harness.Ask(w.Context(), http.MethodPost, w.url+"/chat/live", harness.Live(chat), as(w.token(by))...)
		require.NoError(t, err)
		require.Equal(t, run, c.Header.Get("Rejoin-Run-Id"))
		f, err := c.Next(t.Context())
		require.NoError(t, err)
		require.Contains(t, string(f.Events), everybody[by])
		c.Close()
	}

	// One answers, one stops, and the third goes on.
	question := w.view(ann, asking[ann]).Questions[0].RequestID
	yes := func(run string) string {
		return body("chat_id", chat, "run_id", run, "request_id", question, "outcome", map[string]string{"outcome": "selected", "optionId": "yes"})
	}
	for _, by := range []who{bob, elsewhere} { // also with their own run, and ann's question
		w.want(http.StatusNotFound, w.token(by), http.MethodPost, "/chat/answer", yes(asking[ann]), nil)
		w.want(http.StatusNotFound, w.token(by), http.MethodPost, "/chat/answer", yes(asking[by]), nil)
		w.want(http.StatusNotFound, w.token(by), http.MethodPost, "/chat/stop", body("chat_id", chat, "run_id", asking[ann]), nil)
	}
	w.want(http.StatusOK, w.token(ann), http.MethodPost, "/chat/answer", yes(asking[ann]), nil)
	w.becomes(ann, asking[ann], "ended")
	w.want(http.StatusAccepted, w.token(elsewhere), http.MethodPost, "/chat/stop", body("chat_id", chat, "run_id", asking[elsewhere]), nil)
	w.becomes(elsewhere, asking[elsewhere], "ended")
	require.Equal(t, "waiting", w.view(bob, asking[bob]).State)
	harness.Eventually(w, "only bob's is live", func() bool {
		return len(w.active(ann)) == 0 && len(w.active(elsewhere)) == 0 && len(w.active(bob)) == 1
	})
	require.Empty(t, w.active(who{"acme", "carol", "observer"}))
}

// A client's own name for a message counts within its realm: another user's of the same
// name does not give away, or take, that one's run.
func TestClientTokensOfOneNameNeverMeet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	runs := map[string]bool{}
	for _, by := range []who{ann, bob, elsewhere, ann, bob} {
		var sent struct {
			RunID string `json:"run_id"`
		}
		w.want(http.StatusAccepted, w.token(by), http.MethodPost, "/chat/send",
			body("chat_id", "c", "client_token", "once", "input", map[string]string{"text": "wait"}), &sent)
		runs[sent.RunID] = true
	}
	require.Len(t, runs, 3)
	w.want(http.StatusAccepted, w.token(bob), http.MethodPost, "/chat/stop", body("chat_id", "c", "client_token", "once"), nil)
	harness.Eventually(w, "only bob's was stopped", func() bool { return len(w.active(bob)) == 0 })
	require.Len(t, w.active(ann), 1)
	require.Len(t, w.active(elsewhere), 1)
}

// A producer makes runs for the users of its tenant; a name that looks like another
// tenant's user is only a name.
func TestAProducerStaysInItsTenant(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for _, owner := range []string{"ann", "globex/ann", "globex=ann", "_"} {
		run := w.produce(who{"acme", owner, ""}, "c", delta(1))
		require.Equal(t, []string{run}, w.active(who{"acme", owner, "observer"}))
		w.want(http.StatusNotFound, w.token(elsewhere), http.MethodGet, "/runs/"+run, "", nil)
		w.want(http.StatusNotFound, w.token(stranger), http.MethodPost, "/runs/"+run+"/end", "{}", nil)
		w.want(http.StatusNotFound, w.token(stranger), http.MethodPost, "/runs/"+run+"/events", delta(2), nil)
		w.want(http.StatusForbidden, w.token(service), http.MethodPost, "/chat/live", harness.Live("c", "run_id", run), nil)
	}
	require.Empty(t, w.active(elsewhere))
	w.want(http.StatusForbidden, w.token(who{"globex", "root", "admin"}), http.MethodPut, "/admin/switch", body("tenant", "acme", "percent", 100), nil)
}
