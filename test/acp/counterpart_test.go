package acp_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/acp"
)

// patience is how long a test waits for what has to happen at once on an idle machine.
const patience = time.Minute

// scripted is the command of the scripted agent.
func scripted(t *testing.T, flags ...string) []string {
	t.Helper()
	requireNode(t)
	path, err := filepath.Abs("agent.mjs")
	require.NoError(t, err)
	return append([]string{"node", path}, flags...)
}

// example is the example agent of the Go SDK, built once.
var example struct {
	once sync.Once
	dir  string
	err  error
	said []byte
}

func exampleAgent(t *testing.T) []string {
	t.Helper()
	example.once.Do(func() {
		if example.dir, example.err = os.MkdirTemp("", "acp-example-"); example.err != nil {
			return
		}
		build := exec.Command("go", "build", "-o", example.dir, "github.com/coder/acp-go-sdk/example/agent")
		example.said, example.err = build.CombinedOutput()
	})
	require.NoError(t, example.err, "%s", example.said)
	return []string{filepath.Join(example.dir, "agent")}
}

// start makes an ACP agent out of a command, and ends it with the test.
func start(t *testing.T, command []string, with ...func(*acp.Config)) *acp.Agent {
	t.Helper()
	cfg := acp.Config{Command: command, Dir: t.TempDir(), Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
	for _, f := range with {
		f(&cfg)
	}
	a, err := acp.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		require.NoError(t, a.Close(ctx))
	})
	return a
}
