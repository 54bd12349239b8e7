package browser_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const web = "../../consumer/web"

var bundled struct {
	sync.Once
	js  []byte
	out string
	err error
}

// client is the page that has the browser client and nothing else, built from what is in the working tree now.
func client(t *testing.T) map[string]file {
	t.Helper()
	requireInstalled(t, web)
	sources, err := filepath.Glob(web + "/src/*.ts")
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	for _, source := range sources { // a kept result of the test does not outlive a change of them
		_, err := os.ReadFile(source)
		require.NoError(t, err)
	}
	bundled.Do(func() {
		command := exec.Command(web+"/node_modules/.bin/esbuild", "fixture/client.ts", "--bundle", "--format=esm", "--target=es2022", "--log-level=warning")
		bundled.js, bundled.err = command.Output()
		if exit, ok := bundled.err.(*exec.ExitError); ok { //nolint:errorlint // Output returns it as it is
			bundled.out = string(exit.Stderr)
		}
	})
	require.NoError(t, bundled.err, "%s", bundled.out)
	html, err := os.ReadFile("fixture/client.html")
	require.NoError(t, err)
	files := blank(t)
	files["/fixture/client.html"] = file{"text/html; charset=utf-8", html}
	files["/fixture/client.js"] = file{"text/javascript", bundled.js}
	return files
}
