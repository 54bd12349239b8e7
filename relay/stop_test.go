package relay_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/subjects"
)

func TestStopsThatAreRefused(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, nil)
	id := f.send("c", `,"client_token":"t"`).RunID
	other := f.send("other", "").RunID
	for body, want := range map[string]string{
		`{"run_id":"r"}`:                                            "chat_id is empty",
		`{"threadId":"c","run_id":"r"}`:                             "chat_id is empty",
		`{"chat_id":"c"}`:                                           "neither run_id nor client_token",
		`{"chat_id":"c","run_id":"","client_token":null}`:           "neither run_id nor client_token",
		`{"chat_id":"c","run_id":"` + id + `","client_token":"t"}`:  "run_id and client_token are both given",
		`{"chat_id":"c","run_id":7}`:                                "run_id must be a string",
		`{"chat_id":"c","run_id":"r","reason":{}}`:                  "reason must be a string",
		`{"chat_id":"c","run_id":"r","reason":"` + long(257) + `"}`: "reason has 257 bytes",
	} {
		v := f.post(http.StatusBadRequest, "/chat/stop", body)
		require.Equal(t, "bad_request", v.Code)
		require.Contains(t, v.Detail, want, body)
	}
	for _, body := range []string{
		`{"chat_id":"c","run_id":"nonsense"}`,
		`{"chat_id":"c","run_id":"` + other + `"}`,
		`{"chat_id":"unknown","run_id":"` + id + `"}`,
		`{"chat_id":"c","client_token":"t2"}`,
		`{"chat_id":"unknown","client_token":"t"}`,
	} {
		require.Equal(t, "not_found", f.post(http.StatusNotFound, "/chat/stop", body).Code, body)
	}
	require.Equal(t, http.StatusRequestEntityTooLarge, f.do(http.MethodPost, "/chat/stop", `{"x":"`+long(64<<10)+`"}`).status)
	for _, run := range []string{id, other} {
		require.Equal(t, "queued", f.view(run).State)
		controls, err := f.store.Controls(t.Context(), subjects.RunID(run), 0)
		require.NoError(t, err)
		require.Empty(t, controls)
	}
}

func TestStopBeforeTheStart(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, nil)
	for _, name := range []string{`"run_id":%q`, `"client_token":"t"%.0s`} {
		id := f.send("c", `,"client_token":"t"`).RunID
		o := f.live(`{"chat_id":"c","protocol":1}`)
		v := f.post(http.StatusAccepted, "/chat/stop", fmt.Sprintf(`{"chat_id":"c","reason":"changed my mind",`+name+`}`, id))
		require.Equal(t, "stopping", v.Status)
		require.Equal(t, id, v.RunID)
		o.toEnd()
		require.Equal(t, subjects.End{Reason: subjects.ReasonStopped}, o.end.End)
		require.Equal(t, "ended", f.view(id).State)
		require.NoError(t, f.store.Evict(t.Context(), subjects.RunID(id)))
	}
}

func TestStopOfARunThatIsAtWork(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, nil)
	r := f.begin(f.send("c", "").RunID)
	stop := fmt.Sprintf(`{"chat_id":"c","run_id":%q,"reason":"enough"}`, r.id())
	for range 3 { // until it is over it is the same
		require.Equal(t, r.id(), f.post(http.StatusAccepted, "/chat/stop", stop).RunID)
	}
	controls, err := f.store.Controls(t.Context(), r.entry.RunID, 0)
	require.NoError(t, err)
	require.Len(t, controls, 1)
	require.Equal(t, runs.ControlStop, controls[0].Kind)
	require.Equal(t, "enough", controls[0].Reason)

	r.finish(subjects.End{Persisted: true, Reason: subjects.ReasonStopped})
	next := f.send("c", "")
	a := f.do(http.MethodPost, "/chat/stop", stop)
	require.Equal(t, http.StatusConflict, a.status)
	require.Equal(t, "stale_run", a.problem(t).Code)
	require.Contains(t, a.body, `"reason":"stopped"`)
	require.Contains(t, a.body, `"persisted":true`)
	require.Contains(t, a.body, r.id())
	require.Equal(t, "queued", f.view(next.RunID).State, "never another run")
}
