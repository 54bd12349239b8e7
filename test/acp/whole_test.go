package acp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/producer/save"
	"github.com/rejoin/rejoin/producer/worker"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// whole is an ACP agent behind a worker, with two relays in front.
type whole struct {
	*harness.Fabric
	relays [2]*harness.Relay
}

func newWhole(t *testing.T, command []string) *whole {
	t.Helper()
	w := &whole{Fabric: harness.New(t, harness.Config{})}
	for i := range w.relays {
		w.relays[i] = w.Relay(harness.RelayConfig{})
	}
	a := start(t, command)
	l := w.Connect()
	made, err := worker.New(worker.Config{Producer: w.Producer(l), Turns: turns.New(l.Store, turns.Config{}), Agent: a,
		Saver: save.NewHistory(history.Open(l.Store))})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- made.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-done)
	})
	return w
}

// post sends a request to a relay and reads its answer.
func (w *whole) post(ctx context.Context, relay int, path, body string, want int) (said struct {
	RunID subjects.RunID `json:"run_id"`
}) {
	w.Helper()
	c, err := harness.Ask(ctx, http.MethodPost, w.relays[relay].URL+path, body)
	require.NoError(w, err)
	answer, err := c.Rest()
	require.NoError(w, err)
	require.Equal(w, want, c.Status, answer)
	_ = json.Unmarshal([]byte(answer), &said)
	return said
}

func (w *whole) watch(ctx context.Context, relay int, id subjects.RunID, until func(*harness.Seen) bool) *harness.Seen {
	w.Helper()
	s := (&consumer.Client{BaseURL: w.relays[relay].URL}).Watch(ctx, consumer.Watch{ChatID: "c", RunID: id})
	defer s.Close()
	seen, err := harness.See(ctx, s, until)
	require.NoError(w, err)
	return seen
}

// A permission that an ACP agent asks for outlives the page and the relay; the answer
// through another relay reaches the agent, and everybody sees the same.
func TestAPP01_PermissionOfAnACPAgentOverHTTP(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	w := newWhole(t, scripted(t))
	id := w.post(ctx, 0, "/chat/send", `{"chat_id":"c","input":{"text":"say Hello.\nburst 300\nask 1\nsay Bye."}}`, http.StatusAccepted).RunID
	request := w.watch(ctx, 0, id, harness.Asks).RequestID()
	w.relays[0].Stop()
	require.Equal(t, request, w.watch(ctx, 1, id, harness.Asks).RequestID(), "the same question on another relay")
	outcome := `{"chat_id":"c","run_id":%q,"request_id":%q,"outcome":{"outcome":"selected","optionId":%q}}`
	w.post(ctx, 1, "/chat/answer", fmt.Sprintf(outcome, id, request, "perhaps"), http.StatusBadRequest)
	w.post(ctx, 1, "/chat/answer", fmt.Sprintf(outcome, id, request, "yes"), http.StatusOK)
	w.post(ctx, 1, "/chat/answer", fmt.Sprintf(outcome, id, request, "no"), http.StatusConflict)
	seen := w.watch(ctx, 1, id, nil)
	require.Equal(t, &subjects.End{Persisted: true, Reason: subjects.ReasonDone}, seen.End)
	require.Equal(t, "Hello."+counted(300)+"before 1after 1answer 1 yesBye.", said(seen.Events))
	require.Empty(t, seen.State.Pending())
	require.Empty(t, seen.State.Unknown)
	replay(t, seen.Events)
}

// A stop ends what an ACP agent asks and says, and the chat takes the next message.
func TestAPP04_StopOfAnACPAgentOverHTTP(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	w := newWhole(t, exampleAgent(t))
	id := w.post(ctx, 0, "/chat/send", `{"chat_id":"c","input":{"text":"hi"}}`, http.StatusAccepted).RunID
	request := w.watch(ctx, 0, id, harness.Asks).RequestID()
	w.post(ctx, 1, "/chat/stop", fmt.Sprintf(`{"chat_id":"c","run_id":%q}`, id), http.StatusAccepted)
	seen := w.watch(ctx, 0, id, nil)
	require.Equal(t, &subjects.End{Persisted: true, Reason: subjects.ReasonStopped}, seen.End)
	require.Equal(t, "cancelled", seen.State.Status["prompt "+request])
	require.Contains(t, seen.Events[len(seen.Events)-1], `"cancelled"`)
	next := w.post(ctx, 1, "/chat/send", `{"chat_id":"c","input":{"text":"hi again"}}`, http.StatusAccepted).RunID
	require.NotEmpty(t, w.watch(ctx, 1, next, harness.Asks).RequestID())
	w.post(ctx, 1, "/chat/stop", fmt.Sprintf(`{"chat_id":"c","run_id":%q}`, next), http.StatusAccepted)
	require.Equal(t, subjects.ReasonStopped, w.watch(ctx, 1, next, nil).End.Reason)
}
