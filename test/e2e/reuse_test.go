package e2e_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// SEND-03: somebody starts a run under the id of another: while it is live, after it has
// ended, after it was evicted, and in another chat. Ids are minted, so it is always a run
// of its own, and the old one's end ends nothing else.
func TestSEND03_ARunIDIsNeverUsedAgain(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	relay := f.Relay(harness.RelayConfig{})
	p := f.Producer(f.Connect())
	// again starts a run and asks for an id.
	again := func(chat, id string) (status int, got string) {
		c := ask(t, http.MethodPost, relay.URL+"/runs", `{"chat_id":"`+chat+`","run_id":"`+id+`","on_active":"reject"}`)
		if c.Status != http.StatusCreated {
			return c.Status, whole(t, c)
		}
		return c.Status, c.Header.Get("Location")[len("/runs/"):]
	}
	events := func(id, body string) (status int, answer string) {
		c := ask(t, http.MethodPost, relay.URL+"/runs/"+id+"/events", body)
		return c.Status, whole(t, c)
	}

	x := f.Start(p, "c")
	id := string(x.ID())
	publish(t, x, talk("m", "first")...)

	// (d) In another chat: nothing of the one is in the other, by any cursor.
	status, foreign := again("d", id)
	require.Equal(t, http.StatusCreated, status)
	require.NotEqual(t, id, foreign)
	for _, after := range []int{0, 1, 3} {
		c := watch(t, relay.URL, harness.Live("d", "run_id", id, "after_seq", after))
		h := &held{}
		h.frame(t, c)
		require.Equal(t, subjects.RunID(foreign), h.run)
		require.Empty(t, h.events)
		c.Close()
	}
	idle(t, relay.URL, "idle", "run_id", id, "after_seq", 1)

	// (a) While it is live.
	status, answer := again("c", id)
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, answer, `"code":"already_streaming"`)
	require.Contains(t, answer, id)

	// (b) After it has ended.
	finish(t, x, true)
	status, answer = events(id, lines(1, 1))
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, answer, `"code":"run_ended"`)
	_, err := p.Resume(t.Context(), x.ID())
	require.ErrorIs(t, err, producer.ErrEnded)
	status, second := again("c", id)
	require.Equal(t, http.StatusCreated, status)
	require.NotEqual(t, id, second)
	old := from(x.ID(), talk("m", "first"))
	c := watch(t, relay.URL, harness.Live("c", "run_id", id, "after_seq", 3))
	fresh := watch(t, relay.URL, harness.Live("c"))
	status, _ = events(second, lines(1, 2))
	require.Equal(t, http.StatusOK, status)
	for h, c := range map[*held]*harness.Conn{old: c, {}: fresh} {
		h.frame(t, c)
		h.until(t, c, 2)
		require.Equal(t, subjects.RunID(second), h.run)
		require.Nil(t, h.end)
	}
	require.Equal(t, http.StatusOK, ask(t, http.MethodPost, relay.URL+"/runs/"+second+"/end", `{}`).Status)

	// (c) After it was evicted.
	sweep(t, relay.Store)
	status, answer = events(id, lines(1, 1))
	require.Equal(t, http.StatusNotFound, status)
	require.Contains(t, answer, `"code":"not_found"`)
	_, err = p.Resume(t.Context(), x.ID())
	require.ErrorIs(t, err, producer.ErrNotFound)
	idle(t, relay.URL, "c", "run_id", id, "after_seq", 3)
	status, third := again("c", id)
	require.Equal(t, http.StatusCreated, status)
	require.NotContains(t, []string{id, second}, third)
}
