package browser_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const hint = "run make setup"

// screens is how many Chromiums there may be at once: a second one has the processor while the first waits.
var screens = make(chan struct{}, 2)

// screen waits for a place for a Chromium and keeps it until the test is over.
func screen(t *testing.T) {
	t.Helper()
	screens <- struct{}{}
	t.Cleanup(func() { <-screens })
}

// alone takes all places, for tests that measure. No test may call it in parallel to another that does, so they are
// not parallel; those that are have not begun by then, or have paused.
func alone(t *testing.T) {
	t.Helper()
	for range cap(screens) {
		screen(t)
	}
}

// tools are the commands that the scripts need, by name.
type tools struct{ node, chromium string }

// requireTools fails, and never skips, where something is not installed.
func requireTools(t *testing.T) tools {
	t.Helper()
	node, err := exec.LookPath("node")
	require.NoError(t, err, hint)
	chromium, err := exec.LookPath("chromium")
	require.NoError(t, err, hint)
	requireInstalled(t, ".")
	return tools{node, chromium}
}

// requireInstalled fails where the packages of a folder are not installed as its package.json wants them.
func requireInstalled(t *testing.T, folder string) {
	t.Helper()
	var want struct{ Dependencies, DevDependencies map[string]string }
	readJSON(t, filepath.Join(folder, "package.json"), &want)
	for _, all := range []map[string]string{want.Dependencies, want.DevDependencies} {
		for name, version := range all {
			var have struct{ Version string }
			readJSON(t, filepath.Join(folder, "node_modules", name, "package.json"), &have)
			require.Equal(t, version, have.Version, "node_modules holds another version of %s: %s", name, hint)
		}
	}
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	body, err := os.ReadFile(path)
	require.NoError(t, err, hint)
	require.NoError(t, json.Unmarshal(body, into), path)
}
