package relay

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// SLOW-02 (b): a peer that has vanished is given up within the time that a stalled
// one is.
func TestSLOW02_VanishedPeerIsGivenUp(t *testing.T) {
	t.Parallel()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", ln.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, limitSilence(conn, 20*time.Second))
	raw, err := conn.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	got := 0
	require.NoError(t, raw.Control(func(fd uintptr) {
		got, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
	}))
	require.NoError(t, err)
	require.Equal(t, 20_000, got)
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	require.NoError(t, limitSilence(a, time.Second))
}
