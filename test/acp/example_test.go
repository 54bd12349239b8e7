package acp_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/agent"
)

// The example agent of the Go SDK takes its time: its turns run beside each other.
func TestExampleAgentOfTheGoSDK(t *testing.T) {
	t.Parallel()
	a := start(t, exampleAgent(t))
	for option, want := range map[string]string{"allow": "I've successfully updated the configuration", "reject": "I'll skip the configuration update"} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			tr := ask(t, a, option, "improve my project")
			q := tr.question()
			require.Equal(t, []string{"allow", "reject"}, q.q.Options)
			q.choose(option)
			events := tr.end()
			require.NoError(t, tr.err)
			require.Contains(t, said(events), "Now I understand the project structure.")
			require.Contains(t, said(events), want)
			s := state(events)
			require.Empty(t, s.Unknown)
			require.Empty(t, s.Pending())
			require.Equal(t, 2, strings.Count(strings.Join(events, "\n"), `"type":"TOOL_CALL_RESULT"`))
			require.Less(t, index(t, events, "acp.tool_call", "/home/user/project/config.json"), index(t, events, "acp.permission.request"))
			require.Contains(t, last(events), `"stopReason":"end_turn"`)
			require.Equal(t, []string{"finished"}, replay(t, events).Outcomes)
		})
	}
	t.Run("stop", func(t *testing.T) {
		t.Parallel()
		tr := ask(t, a, "stop", "improve my project")
		tr.question()
		tr.stop(agent.ErrStopped)
		events := tr.end()
		require.Contains(t, last(events), `"outcome":{"type":"cancelled"}`)
		require.Empty(t, state(events).Pending())
		replay(t, events)
	})
}
