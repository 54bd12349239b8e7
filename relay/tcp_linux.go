package relay

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// limitSilence makes the kernel give a connection up when what was sent has not
// been acknowledged, or not been taken, for so long. Without it, a peer that has
// vanished is noticed after many minutes, since what is written to it fits into the
// socket's buffer for a while.
func limitSilence(conn net.Conn, d time.Duration) error {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	var set error
	err = raw.Control(func(fd uintptr) {
		set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return set
}
