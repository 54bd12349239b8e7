package agui_test

import (
	"encoding/json"
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// halting is an agent that sends half of a recording, says so, and sends the rest when it is told to.
type halting struct {
	*upstream
	all      []recording
	half, on map[string]chan struct{}
}

func newHalting(t *testing.T) *halting {
	t.Helper()
	h := &halting{all: reloadable(t), half: map[string]chan struct{}{}, on: map[string]chan struct{}{}}
	byThread := map[string]recording{}
	for _, r := range h.all {
		thread := r.threadID(t)
		byThread[thread] = r
		h.half[thread], h.on[thread] = make(chan struct{}), make(chan struct{})
	}
	h.upstream = newUpstream(t, func(a *asked) {
		events := byThread[a.ThreadID].events
		a.say(frames(events[:len(events)/2]...))
		close(h.half[a.ThreadID])
		a.hold(h.on[a.ThreadID])
		a.say(frames(events[len(events)/2:]...))
	})
	return h
}

// reloadable are the recordings whose agents keep to the rules.
func reloadable(t *testing.T) (all []recording) {
	t.Helper()
	for _, r := range recordings(t) {
		var golden verdict
		if readJSON(t, goldenPath(r), &golden, ""); golden.Outcome != "rejected" {
			all = append(all, r)
		}
	}
	require.NotEmpty(t, all)
	return all
}

// stored waits until n events of the chat's run can be read, and returns the run.
func (c *chain) stored(chat string, n int) subjects.RunID {
	c.t.Helper()
	a, err := harness.Ask(c.within(), http.MethodPost, c.relay.URL+"/chat/live", harness.Live(chat, "wait_ms", 30_000))
	require.NoError(c.t, err)
	defer a.Close()
	require.Equal(c.t, http.StatusOK, a.Status)
	for seq := uint64(0); seq < uint64(n); {
		f, err := a.Next(c.within())
		require.NoError(c.t, err)
		seq = f.Seq
	}
	return subjects.RunID(a.Header.Get("Rejoin-Run-Id"))
}

// A page that is loaded anew in the middle of a run, with a stock client that reads the chat, ends up with what the page
// has that sent the message; so does a reader on protocol 1 with a cursor, which gets the agent's own bytes.
func TestReloadInTheMiddle(t *testing.T) {
	t.Parallel()
	u := newHalting(t)
	c := newChain(t, u.url)
	admit := make(chan struct{}, 1)
	again := tapInto(t, c.Relay(harness.RelayConfig{}).URL, admit) // the page comes back through another relay
	var sends, reloads []job
	for _, r := range u.all {
		sends, reloads = append(sends, job{r.input, c.chat}), append(reloads, job{r.input, again.url})
	}
	sender, reloaded := start(t, sends...), start(t, reloads...)
	for _, r := range u.all {
		chat := r.threadID(t)
		sender.await(u.half[chat])
		half := len(r.events) / 2
		run := c.stored(chat, half)
		admit <- struct{}{}
		reloaded.await(again.fed)
		cursor, err := harness.Ask(c.within(), http.MethodPost, again.relay+"/chat/live",
			harness.Live(chat, "run_id", run, "after_seq", half/2))
		require.NoError(t, err)
		close(u.on[chat])
		seen, err := harness.See(c.within(), cursor, nil)
		cursor.Close()
		require.NoError(t, err, r.name)
		require.Equal(t, lines(r.events[half/2:]), seen.Events, r.name)
		require.True(t, seen.End.Persisted)
	}
	for i, r := range u.all {
		requireGolden(t, r, sender.verdict(i))
		requireGolden(t, r, reloaded.verdict(i))
	}
}

func lines(events [][]byte) (out []string) {
	for _, e := range events {
		out = append(out, string(e))
	}
	return out
}

// The relay that took the messages is killed in the middle of every answer. Its clients know that they have not seen the
// end, the agents notice nothing, and whoever comes back through another relay loses nothing.
func TestReloadAfterTheRelayWasKilled(t *testing.T) {
	t.Parallel()
	u := newHalting(t)
	c := newChain(t, u.url)
	killed := c.RelayProcess()
	killed.Start()
	killed.Ready()
	// All but the last are sent by pages that are gone then, the last one by a stock client that stays.
	last := u.all[len(u.all)-1]
	var sends []*harness.Conn
	for _, r := range u.all[:len(u.all)-1] {
		input, err := os.ReadFile(r.input)
		require.NoError(t, err)
		a, err := harness.Ask(c.within(), http.MethodPost, killed.URL+"/chat", string(input))
		require.NoError(t, err)
		t.Cleanup(a.Close)
		require.Equal(t, http.StatusOK, a.Status)
		sends = append(sends, a)
	}
	sender := start(t, job{last.input, killed.URL + "/chat"})
	sender.waitFor(1)
	runs := map[string]subjects.RunID{}
	for _, r := range u.all {
		chat := r.threadID(t)
		sender.await(u.half[chat])
		runs[chat] = c.stored(chat, len(r.events)/2)
	}
	killed.Kill()
	for _, a := range sends {
		_, err := a.Rest()
		require.Error(t, err, "the answer was not cut")
	}
	require.Equal(t, "rejected", sender.verdict(0).Outcome)

	again := newTap(t, c.relay.URL)
	var reloads []job
	for _, r := range u.all {
		reloads = append(reloads, job{r.input, again.url})
	}
	reloaded := start(t, reloads...)
	for _, r := range u.all {
		reloaded.await(again.fed)
		close(u.on[r.threadID(t)])
	}
	for i, r := range u.all {
		requireGolden(t, r, reloaded.verdict(i))
		saved := c.saved(r.threadID(t))
		require.Len(t, saved, 1)
		require.Equal(t, runs[r.threadID(t)], saved[0].RunID)
		require.Equal(t, harness.Reduce(joined(r.events)), reduced(t, saved[0].Events), r.name)
	}
}

// reduced is what saved events come to.
func reduced(t *testing.T, array json.RawMessage) *harness.State {
	t.Helper()
	var events []json.RawMessage
	require.NoError(t, json.Unmarshal(array, &events))
	s := harness.Reduce(nil)
	for _, e := range events {
		s.Apply(agui.OneLine(e))
	}
	return s
}
