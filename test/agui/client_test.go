package agui_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// verdict is what is printed of one run; client.mjs documents the outcomes.
type verdict struct {
	Outcome  string            `json:"outcome"`
	Error    *clientError      `json:"error,omitempty"`
	Messages json.RawMessage   `json:"messages,omitempty"`
	State    json.RawMessage   `json:"state,omitempty"`
	Result   json.RawMessage   `json:"result,omitempty"`
	Events   []json.RawMessage `json:"events,omitempty"`
	Log      []string          `json:"log,omitempty"`
}

type clientError struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	Status  int    `json:"status,omitempty"`
}

// reading is one stock client at work in a process of its own.
type reading struct {
	t       *testing.T
	jobs    int
	command *exec.Cmd
	stdout  bytes.Buffer
	applied chan int // numbers of the events the client has applied; closed when it is done
	stderr  []string // what else it said; complete once applied is closed
	done    []verdict
}

// job is one run for the stock client to read: what it posts, and where.
type job struct{ input, url string }

// read lets the stock client read one run after the other.
func read(t *testing.T, jobs ...job) []verdict {
	t.Helper()
	return start(t, jobs...).wait()
}

// start lets a stock client read one run after the other. A process takes its time to start on a busy machine, so
// runs that nobody has to act upon share one; three minutes are far more than any of them needs.
func start(t *testing.T, jobs ...job) *reading {
	t.Helper()
	requireClient(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	command := exec.CommandContext(ctx, "node", "read.mjs")
	for _, job := range jobs {
		command.Args = append(command.Args, "--input", job.input, "--url", job.url)
	}
	return launch(t, command, cancel, len(jobs))
}

// launch starts a stock client that is to make so many runs.
func launch(t *testing.T, command *exec.Cmd, cancel context.CancelFunc, runs int) *reading {
	t.Helper()
	r := &reading{t: t, jobs: runs, command: command}
	r.command.Stdout = &r.stdout
	stderr, err := r.command.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, r.command.Start())
	r.applied = make(chan int, 1<<16) // more events than any recording has, so that the scan never waits for the test
	go func() {
		defer close(r.applied)
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			var n int
			if _, err := fmt.Sscanf(lines.Text(), "event %d ", &n); err != nil {
				r.stderr = append(r.stderr, lines.Text())
				continue
			}
			r.applied <- n
		}
	}()
	t.Cleanup(func() { // a test that failed half-way leaves no process behind
		cancel()
		for range r.applied {
		}
		_ = r.command.Wait()
	})
	return r
}

// waitFor returns once the client has applied n events.
func (r *reading) waitFor(n int) {
	r.t.Helper()
	for applied := range r.applied {
		if applied >= n {
			return
		}
	}
	require.Fail(r.t, "the client was done before it had applied enough", "wanted %d events; it said: %s\n%s",
		n, r.stdout.String(), strings.Join(r.stderr, "\n"))
}

// wait returns what the client ended up with, run by run.
func (r *reading) wait() []verdict {
	r.t.Helper()
	for range r.applied {
	}
	err := r.command.Wait()
	said := strings.Join(r.stderr, "\n")
	var verdicts []verdict
	want := 0
	for decoder := json.NewDecoder(&r.stdout); decoder.More(); {
		var v verdict
		require.NoError(r.t, decoder.Decode(&v), "the client: %v: %s", err, said)
		verdicts = append(verdicts, v)
		if v.Outcome == "error" || v.Outcome == "rejected" {
			want = 3
		}
	}
	require.Len(r.t, verdicts, r.jobs, "the client: %v: %s", err, said)
	require.Equal(r.t, want, r.command.ProcessState.ExitCode(), "the client: %v: %s", err, said)
	return verdicts
}

// verdict is what the client ended up with in its ith run.
func (r *reading) verdict(i int) verdict {
	r.t.Helper()
	if r.done == nil {
		r.done = r.wait()
	}
	return r.done[i]
}

// requireClient fails, and never skips, where the stock client is not installed as package.json wants it.
func requireClient(t *testing.T) {
	t.Helper()
	requireInstalled(t, ".", "the stock AG-UI client is not installed: run make setup")
}

// requireInstalled fails where the packages of a folder are not installed as its package.json wants them.
func requireInstalled(t *testing.T, folder, hint string) {
	t.Helper()
	_, err := exec.LookPath("node")
	require.NoError(t, err, hint)
	var want struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	readJSON(t, folder+"/package.json", &want, "")
	for name, version := range want.Dependencies {
		var have struct {
			Version string `json:"version"`
		}
		readJSON(t, folder+"/node_modules/"+name+"/package.json", &have, hint)
		require.Equal(t, version, have.Version, "node_modules holds another version of %s: run make setup", name)
	}
}

func readJSON(t *testing.T, path string, into any, hint string) {
	t.Helper()
	body, err := os.ReadFile(path)
	require.NoError(t, err, hint)
	require.NoError(t, json.Unmarshal(body, into), path)
}
