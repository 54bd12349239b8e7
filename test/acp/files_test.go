package acp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/acp"
)

func TestFilesAndTerminalsAreOffUnlessConfigured(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.txt")
	require.NoError(t, os.WriteFile(file, []byte("secret"), 0o600))
	events := ask(t, start(t, scripted(t)), "chat", "capabilities\nread "+file+"\nunknown _x/of_tomorrow").end()
	require.Contains(t, said(events), `"readTextFile":false`)
	require.Contains(t, said(events), "read error -32601")
	require.Contains(t, said(events), "_x/of_tomorrow error -32601")
}

func TestFilesWithinTheRoot(t *testing.T) {
	t.Parallel()
	root, outside := t.TempDir(), filepath.Join(t.TempDir(), "b.txt")
	file := filepath.Join(root, "a.txt")
	require.NoError(t, os.WriteFile(file, []byte("content"), 0o600))
	require.NoError(t, os.WriteFile(outside, []byte("secret"), 0o600))
	a := start(t, scripted(t), func(c *acp.Config) { c.Root, c.Dir = root, root })
	events := ask(t, a, "chat", "capabilities\nread "+file+"\nread "+outside).end()
	require.Contains(t, said(events), `"readTextFile":true`)
	require.Contains(t, said(events), "read content")
	require.NotContains(t, said(events), "secret")
	require.Equal(t, 1, strings.Count(said(events), "read error"), said(events))
}

// A call shows what its terminal prints, and its last record still does when the terminal
// is gone.
func TestTerminalsShowInTheirCalls(t *testing.T) {
	t.Parallel()
	a := start(t, scripted(t), func(c *acp.Config) { c.Root = t.TempDir() })
	events := ask(t, a, "chat", "capabilities\nrun echo hello; exit 3").end()
	require.Contains(t, said(events), `"terminal":true`)
	require.Contains(t, said(events), "exit 3 hello")
	index(t, events, `"acp.tool_call"`, `"type":"terminal"`, `"status":"completed"`, `"output":"hello\n"`)
	replay(t, events)
}
