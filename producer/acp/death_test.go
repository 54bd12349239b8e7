package acp_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/acp"
)

// hang is what a process does that says nothing more and does not end either.
func hang() { time.Sleep(time.Hour) }

var deathScripts = map[string]func(*scripted){
	"exit 0":  func(a *scripted) { a.die(func() { os.Exit(0) }) },
	"exit 1":  func(a *scripted) { a.die(func() { os.Exit(1) }) },
	"SIGKILL": func(a *scripted) { a.die(func() { p, _ := os.FindProcess(os.Getpid()); _ = p.Kill(); select {} }) },
	"closes stdout": func(a *scripted) {
		a.die(func() { os.Stdout.Close(); hang() })
	},
	"closes stdin": func(a *scripted) {
		a.die(func() { os.Stdin.Close(); hang() })
	},
	"does not read": func(a *scripted) {
		for m := a.hear(); ; m = a.hear() {
			if m.Method == "initialize" {
				a.reply(m, object{"protocolVersion": 1})
				continue
			}
			a.reply(m, object{"sessionId": a.session})
			hang()
		}
	},
	// launcher starts the real agent and waits, as npx does, with its pipes.
	"launcher": func(*scripted) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), roleEnv+"=stubborn")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		_ = cmd.Run()
	},
	// stubborn does not end with its input.
	"stubborn": func(a *scripted) {
		m := a.hello()
		a.write(a.text(fmt.Sprintf("%d %d", os.Getpid(), os.Getppid())))
		a.done(m, "end_turn")
		hang()
	},
	// host is a worker with an agent that does not end by itself.
	"host": func(a *scripted) {
		agent, err := acp.New(acp.Config{Command: os.Args[:1], Env: append(os.Environ(), roleEnv+"=stubborn")})
		if err != nil {
			panic(err)
		}
		tb := &panicking{}
		fmt.Println(newTurn(tb, "c", "x").finished(agent))
		a.hear()
	},
	"one that leaves a child": func(a *scripted) {
		m := a.hello()
		cmd := exec.Command("sleep", "1000")
		cmd.Stdout = os.Stdout
		_ = cmd.Start()
		a.write(a.text(fmt.Sprint(cmd.Process.Pid)))
		_ = m
		os.Exit(4)
	},
}

// die says something, then does what ends it.
func (a *scripted) die(how func()) {
	a.hello()
	a.write(a.text("last words"))
	fmt.Fprint(os.Stderr, "panic: \x1b[31mout of luck\x1b[0m\n\n")
	how()
}

func TestACP03_TheAgentDiesInMidTurn(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"exit 0":        "it ended with exit code 0: panic: out of luck",
		"exit 1":        "it ended with exit code 1: panic: out of luck",
		"SIGKILL":       "it ended with signal SIGKILL: panic: out of luck",
		"closes stdout": "it has closed its output: panic: out of luck",
		"closes stdin":  "it has closed its input: panic: out of luck",
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, script)
			r := newTurn(t, "c", "x")
			require.ErrorIs(t, r.run(a), acp.ErrGone)
			require.Equal(t, "last words", r.text())
			require.Equal(t, "the agent is gone: "+want, r.last().Message)
			require.Equal(t, "agent_gone", r.last().Code)

			again := newTurn(t, "c", "y")
			require.ErrorIs(t, again.run(a), acp.ErrGone, "the chat gets another process")
			require.Equal(t, "last words", again.text())
		})
	}
}

func TestACP03_TheAgentDoesNotRead(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "does not read", func(c *acp.Config) { c.WriteTimeout = 200 * time.Millisecond })
	r := newTurn(t, "c", strings.Repeat("x", 1<<20))
	require.ErrorIs(t, r.run(a), acp.ErrGone)
	require.Contains(t, r.last().Message, "has not read its input for 200ms")
}

func TestACP03_TheRealAgentEndsWithItsLauncher(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "launcher")
	pids := strings.Fields(newTurn(t, "c", "x").finished(a))
	require.NoError(t, a.Close(t.Context()))
	gone(t, pids[0])
	gone(t, pids[1])

	a = newAgent(t, "one that leaves a child")
	r := newTurn(t, "c", "x")
	require.ErrorIs(t, r.run(a), acp.ErrGone)
	require.Contains(t, r.last().Message, "exit code 4")
	gone(t, r.text())
}

func TestACP03_TheAgentDiesWithItsWorker(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	host := exec.Command(self)
	host.Env = append(os.Environ(), roleEnv+"=host")
	in, err := host.StdinPipe()
	require.NoError(t, err)
	defer in.Close()
	out, err := host.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, host.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	pid := strings.Fields(line)[0]
	require.True(t, lives(t, pid))
	require.NoError(t, host.Process.Kill())
	gone(t, pid)
	_ = host.Wait()
}

// panicking is a test that is none, for processes other than the tests' own.
type panicking struct{ testing.TB }

func (*panicking) Helper()                           {}
func (*panicking) Cleanup(func())                    {}
func (*panicking) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (*panicking) FailNow()                          { panic("failed") }

func TestACP03_CloseKillsWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	a := newAgent(t, "launcher")
	pids := strings.Fields(newTurn(t, "c", "x").finished(a))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, a.Close(ctx), context.Canceled)
	gone(t, pids[0])
}

func TestACP03_200CyclesLeaveNothing(t *testing.T) {
	// Not parallel: it counts what the whole process has open.
	a := newAgent(t, "exit 1", func(c *acp.Config) {
		c.Command = []string{"sh", "-c", `read x; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'; read x; exit 1`}
	})
	before := open(t)
	for i := range 200 {
		require.ErrorIs(t, newTurn(t, fmt.Sprint("c", i%7), "x").run(a), acp.ErrGone)
	}
	require.NoError(t, a.Close(t.Context()))
	require.LessOrEqual(t, open(t), before+8) // goroutines are counted when all tests are over
}

// open is how many files this process has open.
func open(t testing.TB) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(all)
}
