package acp_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/acp"
)

func TestACP02_DirtyStdout(t *testing.T) {
	t.Parallel()
	a := start(t, scripted(t))
	script := []string{"say a"}
	for _, dirt := range []string{
		`"\n\n\r\n"`, `"Welcome to the agent!\n"`, `"\u001b[31mred\u001b[0m\r\n"`, `"\ufeff\n"`, `"{\"half\": \n"`,
		`"[1,2,3]\n"`, `"{\"jsonrpc\":\"2.0\",\"id\":4711,\"result\":{}}\n"`, `"{\"jsonrpc\":\"2.0\",\"method\":\"_of/tomorrow\"}\n"`,
		`"{\n\"jsonrpc\": \"2.0\"\n}\n"`, `"null\n"`,
	} {
		script = append(script, "dirt "+dirt, "say .")
	}
	script = append(script, `stderr "noise\n"`, "say z")
	tr := ask(t, a, "chat", strings.Join(script, "\n"))
	require.Equal(t, "a..........z", said(tr.end()))
	require.NoError(t, tr.err)
	replay(t, tr.lines)
}

func TestACP02_LineOfNineMebibytes(t *testing.T) {
	t.Parallel()
	tr := ask(t, start(t, scripted(t)), "chat", "say a\nlong 9437184\nsay z")
	text := said(tr.end())
	require.NoError(t, tr.err)
	require.Equal(t, 9<<20+2, len(text))
}

// A line without an end ends this turn and nobody else's.
func TestACP02_EndlessLine(t *testing.T) {
	t.Parallel()
	a := start(t, scripted(t), func(c *acp.Config) { c.MaxLine = 4 << 20 })
	other := ask(t, a, "other", "say a\nask 1\nsay z")
	q := other.question()
	tr := ask(t, a, "chat", "say a\nflood 500\nsay Never.")
	events := tr.end()
	require.Contains(t, last(events), `"RUN_ERROR"`)
	require.Equal(t, "a", said(events))
	q.choose("yes")
	require.True(t, strings.HasSuffix(said(other.end()), "z"))
	require.Equal(t, "Next.", said(ask(t, a, "chat", "say Next.").end()))
}

// Standard error is for the log, and no amount of it holds up the agent.
func TestACP02_FloodOnStandardError(t *testing.T) {
	t.Parallel()
	tr := ask(t, start(t, scripted(t)), "chat", "say a\nscream 64\nsay z")
	require.Equal(t, "az", said(tr.end()))
	require.NoError(t, tr.err)
}
