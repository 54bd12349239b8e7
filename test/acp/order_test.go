package acp_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestACP01_LastChunkAndResponseInOneWrite(t *testing.T) {
	t.Parallel()
	a := start(t, scripted(t))
	for range 8 {
		tr := ask(t, a, "chat", "say a\ntogether b")
		require.Equal(t, "ab", said(tr.end()))
		require.NoError(t, tr.err)
	}
}

// What is on the pipe behind the response still counts, whatever the machine's pace.
func TestACP01_ChunkRightBehindTheResponse(t *testing.T) {
	t.Parallel()
	a := start(t, scripted(t))
	var turns [][]string
	for range 5 {
		tr := ask(t, a, "chat", "say a\nbehind b")
		turns = append(turns, tr.end())
		require.NoError(t, tr.err)
		require.Equal(t, "ab", said(tr.lines))
		require.Contains(t, last(tr.lines), "end_turn")
	}
	replay(t, turns...)
}

// What an agent says of a session before it gives its id is not lost.
func TestACP01_UpdatesBeforeTheSessionIsKnown(t *testing.T) {
	t.Parallel()
	events := ask(t, start(t, scripted(t, "early")), "chat", "say a").end()
	require.Less(t, index(t, events, "acp.current_mode_update", `"early"`), index(t, events, "acp.session_info_update"))
	require.Less(t, index(t, events, "acp.session_info_update"), index(t, events, `"delta":"a"`))
	replay(t, events)
}
