package agui_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
)

// conversation is what talk.mjs holds.
type conversation struct {
	URL      string          `json:"url"`
	ThreadID string          `json:"threadId"`
	State    json.RawMessage `json:"state,omitempty"`
	Turns    []talkTurn      `json:"turns"`
}

type talkTurn struct {
	RunID    string          `json:"runId,omitempty"`
	Messages json.RawMessage `json:"messages,omitempty"`
	Tools    json.RawMessage `json:"tools,omitempty"`
	Answers  json.RawMessage `json:"answers,omitempty"`
}

// talk lets a stock client hold conversations, one after the other, and returns what it had after each turn.
func talk(t *testing.T, all ...conversation) (verdicts [][]verdict) {
	t.Helper()
	requireClient(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	command := exec.CommandContext(ctx, "node", "talk.mjs")
	script, err := json.Marshal(all)
	require.NoError(t, err)
	command.Stdin = bytes.NewReader(script)
	turns := 0
	for _, c := range all {
		turns += len(c.Turns)
	}
	flat := launch(t, command, cancel, turns).wait()
	for _, c := range all {
		verdicts = append(verdicts, flat[:len(c.Turns)])
		flat = flat[len(c.Turns):]
	}
	return verdicts
}

// requireSame requires that two clients ended up with the same and were given the same.
func requireSame(t *testing.T, want, got verdict) {
	t.Helper()
	require.Equal(t, want.Outcome, got.Outcome, "%+v; %+v", want.Error, got.Error)
	require.Equal(t, want.Error, got.Error)
	if want.Outcome == "rejected" {
		return // how much a client had applied when it gave up depends on how the bytes were cut
	}
	require.JSONEq(t, string(want.Messages), string(got.Messages))
	require.JSONEq(t, string(want.State), string(got.State))
	require.Equal(t, string(want.Result), string(got.Result))
	require.Equal(t, folded(t, want.Events), folded(t, got.Events))
}

// folded are events as they are once nothing can be merged any more.
func folded(t *testing.T, events []json.RawMessage) (out []any) {
	t.Helper()
	var fold agui.Fold
	var e agui.Event
	for _, event := range events {
		require.NoError(t, agui.Scan(event, &e))
		fold.Add(&e)
	}
	for line := range agui.Lines(fold.AppendTo(nil)) {
		var v any
		require.NoError(t, json.Unmarshal(line, &v))
		out = append(out, v)
	}
	return out
}

// requireSameTalk holds a conversation with the agent itself and one behind a worker, and returns what was the same.
func requireSameTalk(t *testing.T, u *upstream, c *chain, turns []talkTurn) ([]verdict, []*asked) {
	t.Helper()
	both := talk(t, conversation{URL: u.url, ThreadID: "chat", Turns: turns}, conversation{URL: c.chat, ThreadID: "chat", Turns: turns})
	asked := u.requests()
	require.Len(t, asked, 2*len(turns))
	for i, direct := range both[0] {
		require.NotEqual(t, "rejected", direct.Outcome, "%+v", direct.Error)
		requireSame(t, direct, both[1][i])
		require.Equal(t, asked[i].body, asked[len(turns)+i].body)
	}
	return both[0], asked[:len(turns)]
}

// sameAsked compares what two agents were asked, but for the ids of chats and runs.
func sameAsked(t *testing.T, want, got *asked) {
	t.Helper()
	without := func(a *asked) (v map[string]any) {
		require.NoError(t, json.Unmarshal([]byte(a.body), &v))
		delete(v, "runId")
		delete(v, "threadId")
		return v
	}
	require.Equal(t, without(want), without(got))
}
