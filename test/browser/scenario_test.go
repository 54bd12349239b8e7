package browser_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// actions are what a script may ask of its test, by name. Each is called by the test's own goroutine, one at a time, so that it
// may require things. What it returns goes to the script as JSON.
type actions map[string]func(ask) any

// ask is what a script says along with an action: a JSON object.
type ask struct {
	t    *testing.T
	body []byte
}

// into reads what was said.
func (a ask) into(v any) {
	a.t.Helper()
	require.NoError(a.t, json.Unmarshal(a.body, v), "%s", a.body)
}

// request is one action that is asked for; the answer goes to done.
type request struct {
	name string
	body []byte
	done chan []byte
}

// scenarioTime is how long a script may take: many times what any of them needs.
const scenarioTime = 3 * time.Minute

// play runs scenarios/NAME.mjs with env, which holds NAME=value pairs, and answers what it asks until it is over.
func play(t *testing.T, script string, do actions, env ...string) {
	t.Helper()
	tools := requireTools(t)
	readScripts(t)
	asked, over := make(chan request), make(chan struct{})
	control := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 16<<20))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		req := request{strings.TrimPrefix(r.URL.Path, "/"), body, make(chan []byte, 1)}
		select {
		case asked <- req:
		case <-over:
			return
		}
		select {
		case answer := <-req.done:
			_, _ = w.Write(answer)
		case <-over:
		}
	}))
	defer control.Close()
	defer close(over)

	command := exec.Command(tools.node, filepath.Join("scenarios", script+".mjs"))
	command.Env = append(append(os.Environ(), env...), "CONTROL="+control.URL, "CHROMIUM="+tools.chromium, "SHOTS="+shots(t), "NAME="+t.Name())
	out, in := io.Pipe()
	command.Stdout, command.Stderr = in, in
	stdin, err := command.StdinPipe() // its end tells the script, should the test be over before it
	require.NoError(t, err)
	require.NoError(t, command.Start())
	exit := make(chan error, 1)
	var said sync.WaitGroup
	said.Go(func() {
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			t.Log(lines.Text())
		}
		_, _ = io.Copy(io.Discard, out)
	})
	go func() {
		err := command.Wait()
		_ = in.Close()
		said.Wait()
		exit <- err
	}()
	gone := false
	defer func() {
		_ = stdin.Close()
		if !gone {
			select {
			case <-exit:
			case <-time.After(20 * time.Second): // for it to close its Chromium
				_ = command.Process.Kill()
				<-exit
			}
		}
	}()
	late := time.After(scenarioTime)
	for {
		select {
		case req := <-asked:
			act := do[req.name]
			require.NotNil(t, act, "there is no action %q", req.name)
			answer, err := json.Marshal(act(ask{t, req.body}))
			require.NoError(t, err)
			req.done <- answer
		case err := <-exit:
			gone = true
			require.NoError(t, err, "the script failed: its last lines say why")
			return
		case <-late:
			require.FailNow(t, "the script does not end", "after %v", scenarioTime)
		}
	}
}

// readScripts opens what Node is going to read, so that a kept result of the test does not outlive a change of it.
func readScripts(t *testing.T) {
	t.Helper()
	for _, pattern := range []string{"scenarios/*.mjs", "lib/*", "fixture/*"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		for _, f := range files {
			_, err := os.ReadFile(f)
			require.NoError(t, err)
		}
	}
}

// verbose is where parts say what they do: nowhere, unless VERBOSE is set.
func verbose(t *testing.T) io.Writer {
	if os.Getenv("VERBOSE") == "" {
		return io.Discard
	}
	return t.Output()
}

var saidWhere sync.Once

// shots is the folder for a test's pictures, which is empty.
func shots(t *testing.T) string {
	t.Helper()
	root := os.Getenv("REJOIN_SHOTS")
	if root == "" {
		root = "shots"
	}
	root, err := filepath.Abs(root)
	require.NoError(t, err)
	saidWhere.Do(func() { fmt.Printf("pictures are in %s\n", root) })
	dir := filepath.Join(root, filepath.FromSlash(t.Name()))
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.MkdirAll(dir, 0o755))
	return dir
}
