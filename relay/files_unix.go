//go:build unix

package relay

import "golang.org/x/sys/unix"

// openFiles is how many files the process may have open, 0 where that is not known or
// not limited. The Go runtime has raised the soft limit to the hard one by then.
func openFiles() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	const most = 1 << 30
	if cur := uint64(limit.Cur); cur < most { //nolint:unconvert // signed on some systems
		return int(cur)
	}
	return 0
}
