package relay_test

import (
	"bytes"
	"net"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// What the crowd looks for in a stream: one byte for each event, and one for what comes
// before the first of them, neither of which stands anywhere else.
const (
	eventMark = '~'
	readyMark = '^'
)

// crowd is many clients that cost as little as can be: raw sockets, read by one thread
// into one buffer, and nothing understood but the marks.
type crowd struct {
	t     testing.TB
	addr  *unix.SockaddrInet4
	host  string
	epoll int
	fds   []int
	of    map[int32]int // socket to client
	ready int           // clients that have seen the ready mark
	total int           // events of all
	buf   []byte
}

func newCrowd(t testing.TB, url string) *crowd {
	t.Helper()
	host := strings.TrimPrefix(url, "http://")
	_, port, err := net.SplitHostPort(host)
	require.NoError(t, err)
	n, err := strconv.Atoi(port)
	require.NoError(t, err)
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	require.NoError(t, err)
	return &crowd{t: t, addr: &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: n}, host: host,
		epoll: epoll, of: map[int32]int{}, buf: make([]byte, 64<<10)}
}

// join opens n streams. It does not wait for an answer.
func (c *crowd) join(n int, path string, headers ...string) {
	c.t.Helper()
	request := []byte("GET " + path + " HTTP/1.1\r\nHost: " + c.host + "\r\n" + strings.Join(headers, "") + "\r\n")
	for range n {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		require.NoError(c.t, err)
		require.NoError(c.t, unix.Connect(fd, c.addr))
		_, err = unix.Write(fd, request)
		require.NoError(c.t, err)
		require.NoError(c.t, unix.EpollCtl(c.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}))
		c.of[int32(fd)] = len(c.fds)
		c.fds = append(c.fds, fd)
	}
}

// until reads until done says so, and tells heard, which may be nil, of every event.
func (c *crowd) until(done func() bool, heard func()) {
	c.t.Helper()
	var events [256]unix.EpollEvent
	for over := time.Now().Add(patience); !done(); {
		if !time.Now().Before(over) {
			c.t.Fatalf("%d of %d clients are ready, %d events came", c.ready, len(c.fds), c.total)
		}
		n, err := unix.EpollWait(c.epoll, events[:], 1000)
		if err == unix.EINTR {
			continue
		}
		require.NoError(c.t, err)
		for i := range n {
			c.read(c.of[events[i].Fd], heard)
		}
	}
}

func (c *crowd) read(client int, heard func()) {
	n, err := unix.Read(c.fds[client], c.buf)
	if err != nil || n == 0 {
		c.t.Fatalf("client %d was cut off: %v", client, err)
	}
	b := c.buf[:n]
	if bytes.IndexByte(b, readyMark) >= 0 {
		c.ready++
	}
	for range bytes.Count(b, []byte{eventMark}) {
		if heard != nil {
			heard()
		}
		c.total++
	}
}

// leave closes all streams at once.
func (c *crowd) leave() {
	for _, fd := range c.fds {
		_ = unix.Close(fd)
	}
	c.fds, c.of, c.ready, c.total = nil, map[int32]int{}, 0, 0
}

func (c *crowd) close() {
	c.leave()
	_ = unix.Close(c.epoll)
}

// cost is what this process has used.
type cost struct {
	cpu    time.Duration // of all threads but the one that asks
	allocs uint64
}

// spent is what has been used so far. The caller is locked to its thread, on which the
// clients run: what they use does not count.
func spent(t testing.TB) cost {
	var all, own unix.Rusage
	require.NoError(t, unix.Getrusage(unix.RUSAGE_SELF, &all))
	require.NoError(t, unix.Getrusage(unix.RUSAGE_THREAD, &own))
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	used := func(r *unix.Rusage) time.Duration { return time.Duration(r.Utime.Nano() + r.Stime.Nano()) }
	return cost{used(&all) - used(&own), mem.Mallocs}
}

func (c cost) since(before cost) cost { return cost{c.cpu - before.cpu, c.allocs - before.allocs} }

func (c cost) plus(more cost) cost { return cost{c.cpu + more.cpu, c.allocs + more.allocs} }

// held is what the process holds in heap and in stacks after a collection.
func held() (heap, stacks uint64) {
	var mem runtime.MemStats
	for range 3 { // pools are emptied by the second
		runtime.GC()
	}
	runtime.ReadMemStats(&mem)
	return mem.HeapAlloc, mem.StackInuse
}
