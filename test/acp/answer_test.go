package acp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTextThoughtsCallsAndPlans(t *testing.T) {
	t.Parallel()
	a := start(t, scripted(t))
	first := ask(t, a, "chat", "think hm\nsay Let me see.\nplan read,edit\nedit /a.txt\nsay Done.\nimage\nupdate "+
		`{"sessionUpdate":"usage_update","used":53000,"size":200000,"cost":{"amount":0.045,"currency":"USD"}}`)
	events := first.end()
	require.NoError(t, first.err)
	s := state(events)
	require.Empty(t, s.Unknown)
	require.Len(t, s.Order, 6, "%q", s.Order)
	require.Equal(t, "Let me see.Done.", said(events))
	index(t, events, `"type":"ACTIVITY_SNAPSHOT"`, `"acp.plan"`, `"content":"read"`, `"content":"edit"`)
	done := index(t, events, `"acp.tool_call"`, `"status":"completed"`, `{"type":"diff","path":"/a.txt","oldText":"a\n","newText":"b\n"}`, `"locations"`)
	require.Less(t, index(t, events, "TOOL_CALL_END"), done)
	require.Less(t, done, index(t, events, "TOOL_CALL_RESULT"))
	index(t, events, `"CUSTOM"`, `"acp.content"`, "image/png")
	index(t, events, `"CUSTOM"`, `"acp.usage_update"`, `"amount":0.045`)
	require.Contains(t, last(events), `"result":{"stopReason":"end_turn"}`)

	// The next turn is another run of the same session, and shares no id with the first.
	second := ask(t, a, "chat", "say Again.\nedit /a.txt\nplan more\nsession").end()
	v := replay(t, events, second)
	require.Equal(t, []string{"finished", "finished"}, v.Outcomes)
	var roles []string
	for _, m := range v.Messages {
		roles = append(roles, m.Role)
	}
	require.Equal(t, "user reasoning assistant activity assistant tool activity assistant user assistant assistant tool activity activity assistant",
		strings.Join(roles, " "))
}

// Nothing is lost or reordered when an agent writes faster than anybody reads.
func TestACP01_BurstIsWholeAndInOrder(t *testing.T) {
	t.Parallel()
	const n = 10_000
	tr := ask(t, start(t, scripted(t)), "chat", fmt.Sprintf("burst %d", n))
	events := tr.end()
	require.NoError(t, tr.err)
	require.True(t, counted(n) == said(events), "the burst is not whole")
	require.Equal(t, []string{"finished"}, replay(t, events).Outcomes)
}

func TestStopReasons(t *testing.T) {
	t.Parallel()
	a := start(t, scripted(t))
	var turns [][]string
	for _, reason := range []string{"refusal", "max_tokens", "max_turn_requests"} {
		tr := ask(t, a, "chat", "say a\nupdate "+`{"sessionUpdate":"tool_call","toolCallId":"x","title":"Never done"}`+"\nstop "+reason)
		events := tr.end()
		require.NoError(t, tr.err)
		require.Contains(t, last(events), `"RUN_FINISHED"`)
		require.Contains(t, last(events), `"stopReason":"`+reason+`"`)
		turns = append(turns, events)
	}
	replay(t, turns...)
}

func TestAnErrorOfTheAgentIsTheRuns(t *testing.T) {
	t.Parallel()
	a := start(t, scripted(t))
	tr := ask(t, a, "chat", "say a\nfail out of credit")
	events := tr.end()
	require.Contains(t, last(events), `"RUN_ERROR"`)
	require.Contains(t, last(events), "out of credit")
	require.NotContains(t, last(events), "kept to ourselves")

	// The chat goes on.
	next := ask(t, a, "chat", "say b").end()
	require.Equal(t, "b", said(next))
	replay(t, events, next)
}

func TestChatsHaveAgentsOfTheirOwn(t *testing.T) {
	t.Parallel()
	a := start(t, scripted(t))
	one, two := ask(t, a, "one", "session\nask 1"), ask(t, a, "two", "session")
	first, second := one.question(), said(two.end())
	first.choose("yes")
	require.NotEqual(t, second, strings.Split(said(one.end()), "before")[0])
	require.Equal(t, second, said(ask(t, a, "two", "session").end()), "a chat keeps its session")
}

// counted is what a burst says.
func counted(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, "%d ", i+1)
	}
	return all.String()
}
