package acp_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/acp"
)

func TestACP03_AgentThatDiesInMidTurn(t *testing.T) {
	t.Parallel()
	a := start(t, scripted(t))
	var turns [][]string
	for _, death := range []string{"die 0", "die 1", "die KILL", "close-stdout\nwait"} {
		tr := ask(t, a, "chat", "say Hello.\nedit /a\nupdate "+`{"sessionUpdate":"tool_call","toolCallId":"x","title":"Never done","status":"in_progress"}`+"\nsay Bye.\n"+death)
		events := tr.end()
		require.Contains(t, last(events), `"RUN_ERROR"`, death)
		require.Equal(t, "Hello.Bye.", said(events), death)
		s := state(events)
		require.Empty(t, s.Unknown)
		require.Equal(t, 2, strings.Count(strings.Join(events, "\n"), `"type":"TOOL_CALL_RESULT"`), death)
		turns = append(turns, events)
	}
	next := ask(t, a, "chat", "say Next.")
	require.Equal(t, "Next.", said(next.end()))
	require.NoError(t, next.err)
	replay(t, append(turns, next.lines)...)
}

func TestACP03_DeathWhileAQuestionIsOpen(t *testing.T) {
	t.Parallel()
	tr := ask(t, start(t, scripted(t)), "chat", "pid\nask 1")
	tr.question()
	var pid int
	_, err := fmt.Sscanf(said(tr.soFar()), "pid %d", &pid)
	require.NoError(t, err)
	agent, err := os.FindProcess(pid)
	require.NoError(t, err)
	require.NoError(t, agent.Kill())
	events := tr.end()
	require.Contains(t, last(events), `"RUN_ERROR"`)
	require.Empty(t, state(events).Pending(), "a dead agent waits for no answer")
	replay(t, events)
}

// npx and the like: what is started is not what speaks.
func TestACP03_AgentBehindALauncher(t *testing.T) {
	t.Parallel()
	a := start(t, append([]string{"sh", "-c", `"$0" "$@"; exit`}, scripted(t)...))
	tr := ask(t, a, "chat", "say a\ndie KILL")
	require.Contains(t, last(tr.end()), `"RUN_ERROR"`)
	require.Equal(t, "b", said(ask(t, a, "chat", "say b").end()))
}

func TestAgentThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	a := start(t, []string{"sh", "-c", "echo no such model >&2; exit 3"})
	tr := ask(t, a, "chat", "say a")
	require.Contains(t, last(tr.end()), `"RUN_ERROR"`)
}

// A session outlives its process where the agent can take it up again, and what
// it repeats of it is not said again.
func TestSessionIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"load", "resume"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			a := start(t, scripted(t, way))
			first := said(ask(t, a, "chat", "session").end())
			require.True(t, strings.HasPrefix(first, "new "), first)
			ask(t, a, "chat", "die 1").end()
			events := ask(t, a, "chat", "session").end()
			require.Equal(t, way+strings.TrimPrefix(first, "new"), said(events))
			require.NotContains(t, strings.Join(events, "\n"), "old ")
			require.NotContains(t, strings.Join(events, "\n"), "Old call")
		})
	}
}

func TestAuthentication(t *testing.T) {
	t.Parallel()
	key := start(t, scripted(t, "auth"), func(c *acp.Config) { c.AuthMethod = "key" })
	require.Equal(t, "a", said(ask(t, key, "chat", "say a").end()))

	wrong := start(t, scripted(t, "auth"), func(c *acp.Config) { c.AuthMethod = "none" })
	require.Contains(t, last(ask(t, wrong, "chat", "say a").end()), `"RUN_ERROR"`)
}
