//go:build unix

package limits_test

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rejoin/rejoin/test/harness"
)

// narrow makes connections like those over a real network to a client that takes little:
// between two processes of one machine, megabytes go out before a writer notices anything.
var narrow = net.Dialer{Timeout: harness.Patience, Control: func(_, _ string, c syscall.RawConn) error {
	var err error
	_ = c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG, 1400)
		if err == nil {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4<<10)
		}
	})
	return err
}}
