package proc_test

import (
	"context"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/bench/proc"
)

// patience bounds waits that are not expected to need it.
const patience = time.Minute

func spec(t *testing.T, role string) proc.Spec {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return proc.Spec{Name: "the " + role, Path: self, Env: []string{roleEnv + "=" + role}}
}

func start(t *testing.T, s *proc.Set, spec proc.Spec) *proc.Child {
	t.Helper()
	c, err := s.Start(t.Context(), spec)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return c
}

// gone says that a process is not there any more, not even to be reaped.
func gone(pid int) bool { return syscall.Kill(pid, 0) == syscall.ESRCH }

func TestAChildSaysWhereItServesAndIsReaped(t *testing.T) {
	t.Parallel()
	var s proc.Set
	serve := spec(t, "serve")
	serve.Says = "serving"
	c := start(t, &s, serve)
	conn, err := net.Dial("tcp", c.Addr())
	require.NoError(t, err)
	defer conn.Close()
	require.Equal(t, "the serve", c.Name())
	require.False(t, gone(c.PID()))

	s.Close()
	require.True(t, gone(c.PID()))
	select {
	case <-c.Gone():
	default:
		t.Fatal("it is gone and does not say so")
	}
	_, err = c.Usage()
	require.ErrorIs(t, err, proc.ErrUsage)
	s.Close()
	_, err = s.Start(t.Context(), serve)
	require.ErrorIs(t, err, proc.ErrStart, "of a set that is closed")
}

// The one that started it is killed and can do nothing about it.
func TestAChildDiesWithItsParent(t *testing.T) {
	t.Parallel()
	var s proc.Set
	p := start(t, &s, spec(t, "parent"))
	conn, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))

	p.Kill()
	_, err = io.ReadAll(conn) // ends with the process that held the other end
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
}

func TestCPUTimeIsCounted(t *testing.T) {
	t.Parallel()
	var s proc.Set
	c := start(t, &s, spec(t, "burn"))
	u, err := c.Usage()
	require.NoError(t, err)
	require.GreaterOrEqual(t, u.CPU, 300*time.Millisecond)
	require.Greater(t, u.RSS, int64(1<<20))

	self, err := proc.Self()
	require.NoError(t, err)
	require.Greater(t, self.RSS, int64(1<<20))
	_, err = proc.Of(-1)
	require.ErrorIs(t, err, proc.ErrUsage)
}

func TestAChildThatDoesNotComeToServe(t *testing.T) {
	t.Parallel()
	var s proc.Set
	t.Cleanup(s.Close)
	_, err := s.Start(t.Context(), spec(t, "fails"))
	require.ErrorIs(t, err, proc.ErrStart)
	require.ErrorContains(t, err, "the fails: it ended: no room on the disk")

	silent := spec(t, "silent")
	silent.Wait = 50 * time.Millisecond
	_, err = s.Start(t.Context(), silent)
	require.ErrorIs(t, err, proc.ErrStart)
	require.ErrorContains(t, err, "it said nothing for 50ms")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Start(ctx, spec(t, "silent"))
	require.ErrorIs(t, err, context.Canceled)

	_, err = s.Start(t.Context(), proc.Spec{Name: "nothing", Path: "/nowhere/at/all"})
	require.ErrorIs(t, err, proc.ErrStart)
}

func TestAChildDoesNotGetWhatIsKeptFromIt(t *testing.T) {
	var s proc.Set
	t.Setenv(roleEnv, "")
	t.Setenv("REJOIN_PROC_OTHER", "x")
	kept := spec(t, "stdin")
	kept.Path, kept.Args = "/bin/sh", []string{"-c", `echo "at [$REJOIN_PROC_OTHER$REJOIN_KEPT]"; cat`}
	kept.Without, kept.Env = []string{"REJOIN_PROC_"}, []string{"REJOIN_KEPT=kept"}
	require.Equal(t, "[kept]", start(t, &s, kept).Addr())
}

// A child may have children that outlive it, and hold what it wrote to.
func TestAChildIsGoneBeforeItsChildren(t *testing.T) {
	t.Parallel()
	var s proc.Set
	c := spec(t, "stdin")
	c.Path, c.Args = "/bin/sh", []string{"-c", `sleep 120 & echo "at [x]"; cat`}
	child := start(t, &s, c)
	over := make(chan struct{})
	go func() { s.Close(); close(over) }()
	select {
	case <-over:
		require.True(t, gone(child.PID()))
	case <-time.After(patience):
		t.Fatal("it is waited for its children")
	}
}

func TestFilesThatAreAllowed(t *testing.T) {
	t.Parallel()
	require.NoError(t, proc.Files(3))
	err := proc.Files(1 << 40)
	require.ErrorIs(t, err, proc.ErrFiles)
	require.ErrorContains(t, err, "ulimit -n 1099511627776")
}
