//go:build unix

package proc

import (
	"fmt"
	"syscall"
)

// Files checks that a process may have n files open, connections included. The error
// wraps ErrFiles.
func Files(n int) error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return fmt.Errorf("%w: %w", ErrFiles, err)
	}
	if uint64(n) > uint64(l.Cur) { //nolint:unconvert // it is signed on some systems
		return fmt.Errorf("%w: %d are needed, %d are allowed; ulimit -n %d allows them", ErrFiles, n, l.Cur, n)
	}
	return nil
}
