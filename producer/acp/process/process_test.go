//go:build unix

package process_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rejoin/rejoin/producer/acp/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	patience = 30 * time.Second
	grace    = 200 * time.Millisecond
)

func start(t testing.TB, cfg process.Config) *process.Process {
	t.Helper()
	p, err := process.Start(cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		p.Kill()
		p.Wait()
	})
	return p
}

func shell(t testing.TB, script string) *process.Process {
	t.Helper()
	return start(t, process.Config{Command: []string{"sh", "-c", script}})
}

func line(t testing.TB, p *process.Process) string {
	t.Helper()
	require.NoError(t, p.Stdout.SetReadDeadline(time.Now().Add(patience)))
	text, err := bufio.NewReader(p.Stdout).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(text)
}

// gone waits until no process has this id, or only one that is dead and not reaped:
// whom orphans belong to may take its time.
func gone(t testing.TB, pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return true
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err == nil && bytes.Contains(stat, []byte(") Z "))
	}, patience, 5*time.Millisecond, "process %d lives", pid)
}

func TestItSpeaksAndEndsWithItsInput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, process.Config{Command: []string{"sh", "-c", `echo "$GREETING $(pwd)"; cat; exit 3`}, Dir: dir, Env: []string{"GREETING=hello", "PATH=" + os.Getenv("PATH")}})
	real, err := filepath.EvalSymlinks(dir)
	require.NoError(t, err)
	require.Equal(t, "hello "+real, line(t, p))
	_, err = io.WriteString(p.Stdin, "echo\n")
	require.NoError(t, err)
	require.Equal(t, "echo", line(t, p))
	p.End(patience)
	require.Equal(t, process.Exit{Code: 3}, p.Wait())
	require.Equal(t, "exit code 3", p.Exit().String())
}

func TestWhatCannotBeStarted(t *testing.T) {
	t.Parallel()
	for _, command := range [][]string{nil, {""}, {"/does/not/exist"}, {"no-such-program-anywhere"}} {
		_, err := process.Start(process.Config{Command: command})
		require.Error(t, err)
	}
	_, err := process.Start(process.Config{Command: []string{"true"}, Dir: "/does/not/exist"})
	require.ErrorContains(t, err, "/does/not/exist")
}

func TestOneThatIgnoresItsInputGetsTheSignals(t *testing.T) {
	t.Parallel()
	p := shell(t, `trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done`)
	require.Equal(t, "ready", line(t, p))
	p.End(grace)
	require.Equal(t, 7, p.Wait().Code)

	p = shell(t, `trap '' TERM; echo ready; while :; do sleep 0.01; done`)
	require.Equal(t, "ready", line(t, p))
	p.End(grace)
	require.Equal(t, process.Exit{Code: -1, Signal: "SIGKILL"}, p.Wait())
	require.Equal(t, "signal SIGKILL", p.Exit().String())
}

func TestACP03_ALauncherTakesItsGrandchildWithIt(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]struct {
		script string
		end    func(p *process.Process)
	}{
		"ended":   {`sleep 1000 & echo $!; wait`, func(p *process.Process) { p.End(grace) }},
		"killed":  {`sleep 1000 & echo $!; wait`, func(p *process.Process) { p.Kill() }},
		"crashed": {`sleep 1000 & echo $!; wait`, func(p *process.Process) { _ = syscall.Kill(p.Pid(), syscall.SIGKILL) }},
		"exited":  {`sleep 1000 & echo $!; exit 0`, func(*process.Process) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := shell(t, how.script)
			pid, err := strconv.Atoi(line(t, p))
			require.NoError(t, err)
			how.end(p)
			p.Wait()
			gone(t, pid)
			gone(t, p.Pid())
		})
	}
}

func TestACP03_200CyclesLeaveNothing(t *testing.T) {
	before := files(t)
	for range 200 {
		p, err := process.Start(process.Config{Command: []string{"cat"}})
		require.NoError(t, err)
		p.End(patience)
		require.Equal(t, process.Exit{}, p.Wait())
		require.ErrorIs(t, syscall.Kill(p.Pid(), 0), syscall.ESRCH, "it is reaped")
	}
	require.LessOrEqual(t, files(t), before+8) // goroutines are counted when all tests are over
}

func files(t testing.TB) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(all)
}

func TestACP03_AClosedInputIsSeen(t *testing.T) {
	t.Parallel()
	p := shell(t, `echo open; read x; exec <&-; echo closed; sleep 1000`)
	require.Equal(t, "open", line(t, p))
	require.False(t, p.Deaf())
	_, err := io.WriteString(p.Stdin, "go on\n")
	require.NoError(t, err)
	require.Equal(t, "closed", line(t, p))
	require.True(t, p.Deaf())
}

func TestACP02_StandardErrorIsLoggedAndBounded(t *testing.T) {
	t.Parallel()
	var out buffer
	p := start(t, process.Config{
		Command: []string{"sh", "-c", `printf '\033[31mred\033[0m alert\007\n\n' >&2; yes 'the flood goes on and on' | head -c 67108864 >&2; printf '\nthe \200 end' >&2`},
		Logger:  slog.New(slog.NewTextHandler(&out, nil)),
	})
	require.Equal(t, process.Exit{}, p.Wait())
	require.Equal(t, "the \uFFFD end", p.LastLine())
	require.Contains(t, out.String(), `"red alert"`)
	require.Contains(t, out.String(), "says more than is logged")
	require.Less(t, len(out.String()), 64<<10)
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func TestATerminalHasOneOutputAndNoInput(t *testing.T) {
	t.Parallel()
	p := start(t, process.Config{Command: []string{"sh", "-c", `cat; echo out; echo err >&2`}, Terminal: true})
	all, err := io.ReadAll(p.Stdout)
	require.NoError(t, err)
	require.Equal(t, "out\nerr\n", string(all))
	require.Nil(t, p.Stdin)
	p.Wait()
}

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain":                       "plain",
		"\x1b[1;31mred\x1b[0m":        "red",
		"\x1b]0;title\atext":          "text",
		"a\x00b\rc\td":                "a b c d",
		"\x1b[":                       "[",
		"bad\xff":                     "bad\uFFFD",
		"0123456789abcdef":            "0123456789…",
		"ünicode ünicode":             "ünicode…",
		"line\u2028sep\u202Eoverride": "line sep o…",
	} {
		require.Equal(t, want, process.Clean([]byte(in), 10), "%q", in)
	}
}
