package relay_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/relay"
)

func TestDoorsHaveTheLimitsOfTheirNeighbours(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, func(c *relay.Config) { c.MaxObservers = 1 })
	f.start("busy").deltas(1)
	o := f.live(`{"chat_id":"busy","protocol":1}`)
	o.next()
	for path, body := range map[string]string{"/agui/c": runInput("r", "x", ""), "/api/chat": uiBody("c", "x", "")} {
		a := f.do(http.MethodPost, path, body)
		require.Equal(t, http.StatusServiceUnavailable, a.status)
		require.Equal(t, "too_many_requests", a.problem(t).Code)
	}
	require.Equal(t, http.StatusServiceUnavailable, f.do(http.MethodGet, "/api/chat/busy/stream", "").status)
	p, err := f.store.Pointer(t.Context(), "", "c")
	require.NoError(t, err)
	require.Empty(t, p.RunID, "nothing was sent")
	o.close()
}

// The kill switch holds for them, and nothing is sent meanwhile.
func TestDoorsAndTheSwitch(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, switched(t, nil))
	u := f.ui(http.MethodPost, "/api/chat", uiBody("c", "hi", ""))
	f.begin(u.runID()).publish(runStarted)
	u.until("start-step")
	f.flip(`{"percent":100}`)
	_, err := u.next()
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, "switched_off", f.do(http.MethodGet, "/api/chat/c/stream", "").problem(t).Code)
	require.Equal(t, "switched_off", f.do(http.MethodPost, "/api/chat", uiBody("d", "hi", "")).problem(t).Code)
	require.Equal(t, "switched_off", f.do(http.MethodPost, "/agui/d", runInput("r", "hi", "")).problem(t).Code)
	p, err := f.store.Pointer(t.Context(), "", "d")
	require.NoError(t, err)
	require.Empty(t, p.RunID)
}
