package relay_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/subjects"
)

// newChats is a fabric whose relay takes turns.
func newChats(t *testing.T, queue turns.Config, change func(*relay.Config)) *fabric {
	t.Helper()
	return newFabric(t, func(c *relay.Config) {
		c.Turns, c.History = turns.New(c.Store, queue), history.Open(c.Store)
		if change != nil {
			change(c)
		}
	})
}

// said is the answer to a send.
type said struct {
	ChatID string `json:"chat_id"`
	TurnID string `json:"turn_id"`
	RunID  string `json:"run_id"`
}

// post wants a status and decodes the answer.
func (f *fabric) post(status int, path, body string) (v struct {
	said
	Status  any
	Code    string
	Detail  string
	Reason  string
	Outcome json.RawMessage
}) {
	f.t.Helper()
	a := f.do(http.MethodPost, path, body)
	require.Equal(f.t, status, a.status, "%s %s: %s", path, body, a.body)
	require.NoError(f.t, json.Unmarshal([]byte(a.body), &v), a.body)
	return v
}

// send sends a message that is taken; more are further members.
func (f *fabric) send(chat, more string) said {
	f.t.Helper()
	v := f.post(http.StatusAccepted, "/chat/send", fmt.Sprintf(`{"chat_id":%q,"input":{"text":"hi"}%s}`, chat, more))
	require.Equal(f.t, chat, v.ChatID)
	return v.said
}

// begin does what a worker does first, and gives the run to be written.
func (f *fabric) begin(id string) *run {
	f.t.Helper()
	e, err := f.store.ChangeEntry(f.t.Context(), subjects.RunID(id), func(e *runs.Entry) error {
		require.Equal(f.t, runs.StateQueued, e.State)
		e.State = runs.StateRunning
		return nil
	})
	require.NoError(f.t, err)
	return &run{f: f, entry: e, prev: e.FirstStreamSeq, from: 1}
}

// ask notes a question in the run's entry, as its writer does.
func (r *run) ask(q runs.Question) {
	r.f.t.Helper()
	_, err := r.f.store.ChangeEntry(r.f.t.Context(), r.entry.RunID, func(e *runs.Entry) error {
		require.True(r.f.t, e.Ask(q))
		return nil
	})
	require.NoError(r.f.t, err)
}

// view is GET /runs/{run_id}.
func (f *fabric) view(id string) (v struct {
	State     string
	Kind      string
	TurnID    *string `json:"turn_id"`
	Seq       uint64
	Questions []map[string]string
	End       *subjects.End
}) {
	f.t.Helper()
	a := f.do(http.MethodGet, "/runs/"+id, "")
	require.Equal(f.t, http.StatusOK, a.status, a.body)
	require.NoError(f.t, json.Unmarshal([]byte(a.body), &v))
	return v
}

// turn is what a run was asked, as its worker reads it.
func (f *fabric) turn(id string) *turns.Turn {
	f.t.Helper()
	t, err := turns.New(f.store, turns.Config{}).Turn(f.t.Context(), subjects.RunID(id))
	require.NoError(f.t, err)
	return t
}
