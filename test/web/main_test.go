package web_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	client = "../../consumer/web"
	demo   = "../../relay/demo"
	// patience is for a command, on a machine that is busy with other tests.
	patience = 3 * time.Minute
)

// read reads all files below folders, so that a cached result is only good for those that
// were read, and returns them by their paths in the folder. Commands read them unseen.
func read(t *testing.T, folder string, below ...string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, name := range below {
		err := filepath.WalkDir(filepath.Join(folder, name), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			body, err := os.ReadFile(path)
			if err == nil {
				path, err = filepath.Rel(folder, path)
			}
			all[path] = body
			return err
		})
		require.NoError(t, err)
	}
	require.NotEmpty(t, all)
	return all
}

// run runs a command in a folder and returns what it wrote.
func run(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = folder
	command.Env = append(os.Environ(), "npm_config_offline=true", "npm_config_audit=false", "npm_config_update_notifier=false", "NO_COLOR=1")
	command.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	require.NoError(t, command.Run(), "%s %v: %s", name, args, &out)
	return out.String()
}

// absolute is a path that any folder knows.
func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	require.NoError(t, err)
	return path
}
