package acp_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lives reports whether a process lives. A dead one that is not reaped does not.
func lives(t testing.TB, pid string) bool {
	t.Helper()
	id, err := strconv.Atoi(pid)
	require.NoError(t, err)
	if errors.Is(syscall.Kill(id, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	return err == nil && !bytes.Contains(stat, []byte(") Z "))
}

func gone(t testing.TB, pid string) {
	t.Helper()
	require.Eventually(t, func() bool { return !lives(t, pid) }, patience, 5*time.Millisecond, "process %s lives", pid)
}

// killed kills a process as the system does when memory is short.
func killed(t testing.TB, pid string) {
	t.Helper()
	id, err := strconv.Atoi(pid)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(id, syscall.SIGKILL))
	gone(t, pid)
}
