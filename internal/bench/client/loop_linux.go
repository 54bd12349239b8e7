package client

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Loop serves many Socks with one thread. It costs one read for what has arrived on a
// connection, and nothing for those on which nothing does.
type Loop struct {
	addr unix.SockaddrInet4
	host string
	ep   int
	wake int // eventfd
	in   []byte

	socks []*Sock // by file
	due   func(now time.Time) (next time.Time)
	next  time.Time // when due is called; zero means never
	ended bool

	mu    sync.Mutex
	calls []func()
	over  bool
}

// batch is how many connections are looked at before the next look at the clock.
const batch = 128

// NewLoop makes a loop for connections to host:port, an IPv4 address. Run has to be
// called.
func NewLoop(addr string) (*Loop, error) {
	at, err := netip.ParseAddrPort(addr)
	if err != nil || !at.Addr().Is4() {
		return nil, fmt.Errorf("the address %.60q has to be IPv4 and port", addr)
	}
	l := &Loop{addr: unix.SockaddrInet4{Addr: at.Addr().As4(), Port: int(at.Port())}, host: addr, in: make([]byte, defaultBuffer)}
	if l.ep, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	if l.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err == nil {
		err = unix.EpollCtl(l.ep, unix.EPOLL_CTL_ADD, l.wake, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(l.wake)})
	}
	if err != nil {
		_ = unix.Close(l.ep)
		return nil, fmt.Errorf("epoll: %w", err)
	}
	return l, nil
}

// Run serves until ctx ends, which is no error, and closes all Socks then.
func (l *Loop) Run(ctx context.Context) error {
	// The thread's timers are made precise. It is given back as it was, since a thread
	// that ends takes the processes with it that were begun by it and are tied to it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	defer func() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) }()
	defer inNobodysWay()()
	defer context.AfterFunc(ctx, l.poke)()
	defer l.end()
	events := make([]unix.EpollEvent, batch)
	for ctx.Err() == nil {
		n, err := l.poll(events)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("epoll: %w", err)
		}
		for i := range max(n, 0) {
			if fd := int(events[i].Fd); fd == l.wake {
				l.called()
			} else if s := l.sock(fd); s != nil {
				s.ready(events[i].Events)
			}
		}
		if !l.next.IsZero() {
			if now := time.Now(); !now.Before(l.next) {
				l.next = l.due(now)
			}
		}
	}
	return nil
}

// inNobodysWay has the thread wait for a processor that is free, and not take one from who
// is at work whenever something arrives: reading each frame by itself would cost it twice
// as much, and those who are measured the time. What it waits counts as latency.
func inNobodysWay() (asBefore func()) {
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return func() {}
	}
	batch := *before
	batch.Policy = unix.SCHED_BATCH
	if unix.SchedSetAttr(0, &batch, 0) != nil {
		return func() {}
	}
	return func() { _ = unix.SchedSetAttr(0, before, 0) }
}

// poll waits until something is ready or due.
func (l *Loop) poll(events []unix.EpollEvent) (int, error) {
	var timeout *unix.Timespec
	if !l.next.IsZero() {
		ts := unix.NsecToTimespec(int64(max(time.Until(l.next), 0)))
		timeout = &ts
	}
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(l.ep), uintptr(unsafe.Pointer(&events[0])),
		uintptr(len(events)), uintptr(unsafe.Pointer(timeout)), 0, 0)
	if errno == 0 {
		return int(n), nil
	}
	if errno != unix.ENOSYS { // Linux before 5.11
		return 0, errno
	}
	ms := -1
	if timeout != nil {
		ms = int(max(time.Until(l.next), 0) / time.Millisecond)
	}
	return unix.EpollWait(l.ep, events, ms)
}

// Do has f called by the goroutine of Run, and returns when it has been; if Run has
// returned it gives ErrClosed. Handlers must not call it.
func (l *Loop) Do(f func()) error {
	done := make(chan struct{})
	l.mu.Lock()
	if l.over {
		l.mu.Unlock()
		return ErrClosed
	}
	l.calls = append(l.calls, func() { f(); close(done) })
	l.mu.Unlock()
	l.poke()
	<-done
	return nil
}

// At has f called at a time, and again at the time that it returns; the zero time means
// never again. It replaces what was given before. It may be called in Do only.
func (l *Loop) At(next time.Time, f func(now time.Time) (next time.Time)) { l.next, l.due = next, f }

func (l *Loop) poke() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wake < 0 {
		return
	}
	_, _ = unix.Write(l.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
}

func (l *Loop) called() {
	var b [8]byte
	_, _ = unix.Read(l.wake, b[:])
	l.mu.Lock()
	calls := l.calls
	l.calls = nil
	l.mu.Unlock()
	for _, f := range calls {
		f()
	}
}

// end closes what is open, and calls whoever still waits.
func (l *Loop) end() {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.called()
	l.ended = true
	for _, s := range l.socks {
		if s != nil {
			s.Close()
		}
	}
	_ = unix.Close(l.ep)
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = unix.Close(l.wake)
	l.wake = -1
}

func (l *Loop) sock(fd int) *Sock {
	if fd < len(l.socks) {
		return l.socks[fd]
	}
	return nil
}

func (l *Loop) put(fd int, s *Sock) {
	for fd >= len(l.socks) {
		l.socks = append(l.socks, nil)
	}
	l.socks[fd] = s
}
