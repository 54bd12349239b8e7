package acp_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/acp"
	"github.com/rejoin/rejoin/producer/agent"
)

func TestStopWhileTheAgentSpeaks(t *testing.T) {
	t.Parallel()
	a := start(t, scripted(t))
	tr := ask(t, a, "chat", "say Hello.\nedit /a\nwait\nsay Never.")
	tr.waitFor("TOOL_CALL_RESULT")
	tr.stop(agent.ErrStopped)
	events := tr.end()
	require.Contains(t, last(events), `"RUN_FINISHED"`)
	require.Contains(t, last(events), `"outcome":{"type":"cancelled"}`)
	require.True(t, strings.HasPrefix(said(events), "Hello."))
	require.NotContains(t, said(events), "Never.")

	next := ask(t, a, "chat", "say Next.").end()
	require.Equal(t, "Next.", said(next), "nothing of one turn is in the next")
	replay(t, events, next)
}

func TestStopInABurst(t *testing.T) {
	t.Parallel()
	a := start(t, scripted(t))
	tr := ask(t, a, "chat", "burst 100000\nwait")
	tr.waitFor(`"delta":"1000 "`)
	tr.stop(agent.ErrStopped)
	events := tr.end()
	require.Contains(t, last(events), `"outcome":{"type":"cancelled"}`)
	require.True(t, strings.HasPrefix(said(events), "1 2 3 4 5 "))
	replay(t, events)
}

// A call that ignores the cancel is not waited for, and the chat is not lost.
func TestSTOP02_AgentThatIgnoresTheCancel(t *testing.T) {
	t.Parallel()
	a := start(t, scripted(t), func(c *acp.Config) { c.CancelTimeout = 2 * time.Second })
	tr := ask(t, a, "chat", "say Hello.\ndeaf 3600000")
	tr.waitFor("TOOL_CALL_END")
	tr.stop(agent.ErrStopped)
	events := tr.end()
	require.Contains(t, last(events), `"outcome":{"type":"cancelled"}`)
	require.Equal(t, "Hello.", said(events))

	next := ask(t, a, "chat", "say Next.")
	require.Equal(t, "Next.", said(next.end()))
	require.NoError(t, next.err)
	replay(t, events, next.lines)
}

func TestStopBeforeTheAgentIsThere(t *testing.T) {
	t.Parallel()
	a := start(t, scripted(t))
	tr := ask(t, a, "chat", "say Hello.\nwait")
	tr.stop(agent.ErrStopped)
	require.Contains(t, last(tr.end()), `"outcome":{"type":"cancelled"}`)
	require.Equal(t, "Next.", said(ask(t, a, "chat", "say Next.").end()))
}
