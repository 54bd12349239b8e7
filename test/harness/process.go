package harness

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// roleEnv names what a copy of the test binary is to be instead of a test.
const roleEnv = "REJOIN_TEST_ROLE"

// Roles are the processes that a test binary can be besides a test. Each returns, and
// so ends its process, when its standard input does.
type Roles map[string]func()

// Play runs the role that this process was started for and exits. In the tests' own
// process it returns at once: call it first thing in TestMain.
func (r Roles) Play() {
	if role := r[os.Getenv(roleEnv)]; role != nil {
		role()
		os.Exit(0)
	}
}

// Process is one that a test has started, and may kill. It does not outlive its test.
type Process struct {
	testing.TB
	cmd   *exec.Cmd
	stdin io.Closer
	gone  chan struct{}

	mu    sync.Mutex
	out   []string
	more  chan struct{} // closed at the next line
	errs  bytes.Buffer
	ended bool
}

// Role starts a copy of the test binary in a role. env holds NAME=value pairs.
func Role(t testing.TB, role string, env ...string) *Process {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return Spawn(t, exec.Command(self), append(env, roleEnv+"="+role)...)
}

// Spawn starts a command. What it says on standard error is shown if the test fails.
func Spawn(t testing.TB, cmd *exec.Cmd, env ...string) *Process {
	t.Helper()
	p := &Process{TB: t, cmd: cmd, gone: make(chan struct{}), more: make(chan struct{})}
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = &tailOf{p: p}
	tie(cmd)
	var err error
	p.stdin, err = cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	go p.listen(out)
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("standard error of %s:\n%s", cmd.Path, p.errs.String())
		}
	})
	return p
}

// listen gathers the lines of standard output until the process is gone.
func (p *Process) listen(out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		p.mu.Lock()
		p.out = append(p.out, lines.Text())
		close(p.more)
		p.more = make(chan struct{})
		p.mu.Unlock()
	}
	_ = p.cmd.Wait()
	p.mu.Lock()
	p.ended = true
	close(p.more)
	p.mu.Unlock()
	close(p.gone)
}

// Line waits for the first line that begins with prefix and returns the rest of it.
func (p *Process) Line(prefix string) string {
	p.Helper()
	late := time.After(Patience)
	for {
		p.mu.Lock()
		out, more, ended := p.out, p.more, p.ended
		p.mu.Unlock()
		for _, line := range out {
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				return rest
			}
		}
		if ended {
			require.FailNow(p, "the process has ended", "without a line %q", prefix)
		}
		select {
		case <-more:
		case <-late:
			require.FailNow(p, "no such line", "%q", prefix)
		}
	}
}

// ID is the process id.
func (p *Process) ID() int { return p.cmd.Process.Pid }

// Kill ends the process as a crash does, with SIGKILL, and waits until it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // of this very process: it is not reaped before gone
	<-p.gone
	_ = p.stdin.Close()
}

// Terminate asks the process to end, as an operator does, with SIGTERM.
func (p *Process) Terminate() {
	p.Helper()
	p.signal(syscall.SIGTERM)
}

func (p *Process) signal(s syscall.Signal) {
	p.Helper()
	require.NoError(p, p.cmd.Process.Signal(s))
}

// Exit waits until the process is gone, and gives its exit code.
func (p *Process) Exit() int {
	p.Helper()
	select {
	case <-p.gone:
	case <-time.After(Patience):
		require.FailNow(p, "the process does not end")
	}
	return p.cmd.ProcessState.ExitCode()
}

// tailOf keeps the last of what is written.
type tailOf struct{ p *Process }

const keptOutput = 64 << 10

func (w *tailOf) Write(b []byte) (int, error) {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	if w.p.errs.Len() > keptOutput {
		w.p.errs.Next(w.p.errs.Len() / 2)
	}
	return w.p.errs.Write(b)
}
