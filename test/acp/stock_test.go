package acp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// verdict is what replay.mjs prints; it documents the fields.
type verdict struct {
	Outcomes []string
	Pending  [][]string
	Messages []message
	Log      []string
}

// message is a message of the stock client.
type message struct {
	ID, Role     string
	Content      json.RawMessage
	ActivityType string
	ToolCallID   string
	ToolCalls    []struct {
		ID       string
		Function struct{ Name, Arguments string }
	}
}

// replay gives turns to the stock client. It has to take all of them without a word,
// and must not take a call for one of its own.
func replay(t *testing.T, turns ...[]string) verdict {
	t.Helper()
	requireNode(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var in, stderr bytes.Buffer
	for _, events := range turns {
		in.WriteString(strings.Join(events, "\n") + "\n\n")
	}
	command := exec.CommandContext(ctx, "node", "replay.mjs")
	command.Stdin, command.Stderr = &in, &stderr
	out, err := command.Output()
	require.NoError(t, err, "%s", stderr.String())
	var v verdict
	require.NoError(t, json.Unmarshal(out, &v), "%s", out)
	require.Empty(t, v.Log)
	require.Len(t, v.Outcomes, len(turns))
	for i, outcome := range v.Outcomes {
		require.NotContains(t, outcome, "rejected", "turn %d: %s", i, strings.Join(turns[i], "\n"))
		require.NotEqual(t, "eof", outcome)
		require.Empty(t, v.Pending[i], "calls left for the client: %s", strings.Join(turns[i], "\n"))
	}
	ids := map[string]bool{}
	for _, m := range v.Messages {
		require.False(t, ids[m.ID], "%s is the id of two messages", m.ID)
		ids[m.ID] = true
	}
	return v
}

// requireNode fails, and never skips, where the packages are not those of package.json.
func requireNode(t *testing.T) {
	t.Helper()
	const hint = "the npm packages of the tests are not installed: run make setup"
	_, err := exec.LookPath("node")
	require.NoError(t, err, hint)
	read := func(path string, into any) {
		body, err := os.ReadFile(path)
		require.NoError(t, err, hint)
		require.NoError(t, json.Unmarshal(body, into), path)
	}
	var want struct{ Dependencies map[string]string }
	read("package.json", &want)
	for name, version := range want.Dependencies {
		var have struct{ Version string }
		read("node_modules/"+name+"/package.json", &have)
		require.Equal(t, version, have.Version, "node_modules holds another version of %s: run make setup", name)
	}
}
