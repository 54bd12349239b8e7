package turns_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// What the README promises of one command: a whole answer with reasoning, a tool call and
// an approval, saved; and when the process is killed in the middle of the next one and
// started again, that has an end, and the chat goes on.
func TestDevAnswersAndSurvives(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	d := harness.NewDev(t, "--lease", "1s", "--demo=false")
	d.Start()
	d.Ready()
	id := send(ctx, t, d.URL, "c", "hi")
	request := watch(ctx, t, d.URL, "c", id, harness.Asks).RequestID()
	answer(ctx, t, d.URL, "c", id, request, "allow")
	seen := watch(ctx, t, d.URL, "c", id, nil)
	require.Equal(t, &subjects.End{Persisted: true, Reason: subjects.ReasonDone}, seen.End)
	for _, want := range []string{"RUN_STARTED", "REASONING_MESSAGE_CONTENT", "TOOL_CALL_ARGS", "TOOL_CALL_RESULT", "TEXT_MESSAGE_CONTENT", "RUN_FINISHED"} {
		require.True(t, slices.Contains(seen.Types, want), "%s in %v", want, seen.Types)
	}
	require.Empty(t, seen.State.Pending())
	require.Equal(t, "selected", seen.State.Status["prompt "+request])
	require.Equal(t, []subjects.RunID{id}, saved(ctx, t, d.URL, "c"))

	lost := send(ctx, t, d.URL, "c", "hi again")
	half := watch(ctx, t, d.URL, "c", lost, harness.Asks)
	d.Kill()
	d.Start()
	d.Ready()
	seen = watch(ctx, t, d.URL, "c", lost, nil)
	require.Equal(t, &subjects.End{Reason: subjects.ReasonAbandoned}, seen.End)
	require.Equal(t, "expired", seen.State.Status["prompt "+half.RequestID()], "nobody waits for that answer any more")
	next := send(ctx, t, d.URL, "c", "quick")
	require.Equal(t, subjects.ReasonDone, watch(ctx, t, d.URL, "c", next, nil).End.Reason)
	require.Equal(t, []subjects.RunID{id, next}, saved(ctx, t, d.URL, "c"))
}

// watch follows one run of a chat, coming back for as long as it takes.
func watch(ctx context.Context, t *testing.T, url, chat string, id subjects.RunID, until func(*harness.Seen) bool) *harness.Seen {
	t.Helper()
	s := (&consumer.Client{BaseURL: url}).Watch(ctx, consumer.Watch{ChatID: chat, RunID: id})
	defer s.Close()
	seen, err := harness.See(ctx, s, until)
	require.NoError(t, err)
	return seen
}

// answer chooses an option, and has to be the first to do so.
func answer(ctx context.Context, t *testing.T, url, chat string, id subjects.RunID, request, option string) {
	t.Helper()
	c, err := harness.Ask(ctx, http.MethodPost, url+"/chat/answer",
		fmt.Sprintf(`{"chat_id":%q,"run_id":%q,"request_id":%q,"outcome":{"outcome":"selected","optionId":%q}}`, chat, id, request, option))
	require.NoError(t, err)
	body, err := c.Rest()
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, c.Status, body)
}

// saved lists the runs of a chat's history.
func saved(ctx context.Context, t *testing.T, url, chat string) (ids []subjects.RunID) {
	t.Helper()
	c, err := harness.Ask(ctx, http.MethodGet, url+"/chat/"+chat+"/history", "")
	require.NoError(t, err)
	body, err := c.Rest()
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, c.Status, body)
	var got struct {
		Turns []struct {
			RunID subjects.RunID `json:"run_id"`
		} `json:"turns"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &got))
	for _, turn := range got.Turns {
		ids = append(ids, turn.RunID)
	}
	return ids
}
