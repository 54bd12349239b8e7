package browser_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// blank is a page that has nothing.
func blank(t *testing.T) map[string]file {
	t.Helper()
	html, err := os.ReadFile("fixture/blank.html")
	require.NoError(t, err)
	return map[string]file{"/fixture/blank.html": {"text/html; charset=utf-8", html}}
}

// An EventSource that is cut comes back by itself, at its place, also at another relay, and stops once there is nothing
// to come back for.
func TestEventSourceComesBackAtItsPlace(t *testing.T) {
	t.Parallel()
	screen(t)
	newRig(t, rigConfig{files: blank(t)}).play("native", nil)
}

// UNI-03: a browser's own parser hands on each event whole, and none that was not said.
func TestUNI03_SeparatorsInAnEventSource(t *testing.T) {
	t.Parallel()
	screen(t)
	newRig(t, rigConfig{files: blank(t)}).play("separators", nil)
}

// A test that cannot fail is worth nothing: what the scenarios watch for is seen.
func TestWhatIsWatchedForIsSeen(t *testing.T) {
	t.Parallel()
	screen(t)
	newRig(t, rigConfig{files: blank(t)}).play("watches", nil)
}
