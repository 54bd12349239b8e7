package clients_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/test/harness"
)

// script is a Node script at work. It says things, one a line: a word and JSON.
type script struct {
	t     *testing.T
	in    io.WriteCloser
	lines chan string // what it says; closed when it is done
	told  []string    // what was not waited for
	notes strings.Builder
}

// start runs a script. It is over with the test, and a few minutes are far more than it needs.
func start(t *testing.T, name string, args ...string) *script {
	t.Helper()
	requireInstalled(t)
	for _, file := range []string{name, "say.mjs"} { // the cache of go test has to see that they change
		_, err := os.ReadFile(file)
		require.NoError(t, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	cmd := exec.CommandContext(ctx, "node", append([]string{name}, args...)...)
	s := &script{t: t, lines: make(chan string, 1<<12)}
	var err error
	s.in, err = cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = &s.notes
	require.NoError(t, cmd.Start())
	go func() {
		defer close(s.lines)
		in := bufio.NewReader(out)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			s.lines <- strings.TrimSuffix(line, "\n")
		}
	}()
	t.Cleanup(func() {
		_ = s.in.Close()
		if t.Failed() {
			cancel()
		}
		for range s.lines { // it ends when its input does
		}
		err := cmd.Wait()
		cancel()
		if t.Failed() {
			t.Logf("%s %v: %s", name, args, s.notes.String())
		} else if err != nil {
			t.Errorf("%s %v: %v: %s", name, args, err, s.notes.String())
		}
	})
	return s
}

// heard waits until the script says a word, and decodes what it says with it.
func (s *script) heard(word string, into any) {
	s.t.Helper()
	for line := range s.lines {
		said, value, _ := strings.Cut(line, " ")
		if said == word {
			if into != nil {
				require.NoError(s.t, json.Unmarshal([]byte(value), into), line)
			}
			return
		}
		s.told = append(s.told, line)
	}
	require.FailNow(s.t, "the script was over", "before it said %s; it said %q", word, s.told)
}

// tell tells the script to go on, with a line.
func (s *script) tell(line string) {
	s.t.Helper()
	_, err := io.WriteString(s.in, line+"\n")
	require.NoError(s.t, err)
}

// requireInstalled fails, and never skips, where the packages are not installed as package.json wants them.
func requireInstalled(t *testing.T) {
	t.Helper()
	const hint = "the stock clients are not installed: run make setup"
	_, err := exec.LookPath("node")
	require.NoError(t, err, hint)
	var want struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	readJSON(t, "package.json", &want, "")
	for name, version := range want.Dependencies {
		var have struct {
			Version string `json:"version"`
		}
		readJSON(t, "node_modules/"+name+"/package.json", &have, hint)
		if i := strings.LastIndexByte(version, '@'); i > 0 { // an alias
			version = version[i+1:]
		}
		require.Equal(t, version, have.Version, "node_modules holds another version of %s: run make setup", name)
	}
}

func readJSON(t *testing.T, path string, into any, hint string) {
	t.Helper()
	body, err := os.ReadFile(path)
	require.NoError(t, err, hint)
	require.NoError(t, json.Unmarshal(body, into), path)
}
