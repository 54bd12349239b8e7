package client

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Sock is one connection of a Loop, for the goroutine of its Run.
type Sock struct {
	loop       *Loop
	fd         int // -1 once it is closed
	connecting bool
	handler    Handler
	dec        decoder
	held       []byte // not sent yet
}

// maxHeld bounds what is held for a peer that does not read.
const maxHeld = 4 << 20

// Dial begins a connection, from a source address or, where that is zero, any. What is
// written meanwhile is held until it is there. It may be called by Handlers, and in Do. h
// is told of everything that arrives, and of the end.
func (l *Loop) Dial(source [4]byte, h Handler) (*Sock, error) {
	if l.ended {
		return nil, ErrClosed
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	s := &Sock{loop: l, fd: fd, handler: h, connecting: true}
	if err := s.dial(source); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	s.dec.expect(h)
	l.put(fd, s)
	return s, nil
}

func (s *Sock) dial(source [4]byte) error {
	if err := unix.SetsockoptInt(s.fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	if source != [4]byte{} {
		// The port is chosen when the peer is known, so that others may use it for theirs.
		_ = unix.SetsockoptInt(s.fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
		if err := unix.Bind(s.fd, &unix.SockaddrInet4{Addr: source}); err != nil {
			return os.NewSyscallError("bind", err)
		}
	}
	switch err := unix.Connect(s.fd, &s.loop.addr); {
	case err == nil:
		s.connecting = false
	case !errors.Is(err, unix.EINPROGRESS):
		return os.NewSyscallError("connect", err)
	}
	// Edges, so that nothing has to be said when there is something to send, or no more.
	e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(s.fd)}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(s.loop.ep, unix.EPOLL_CTL_ADD, s.fd, &e))
}

// Host is what the Host line of a request says.
func (l *Loop) Host() string { return l.host }

// Write sends b, or holds what cannot be sent yet, up to 4 MiB: beyond that it is ErrFull,
// and nothing of b is taken. ErrClosed is for a Sock that was closed; an error of the
// connection is told to the Handler instead.
func (s *Sock) Write(b []byte) error {
	if s.fd < 0 {
		return ErrClosed
	}
	if s.connecting || len(s.held) > 0 {
		if len(s.held)+len(b) > maxHeld {
			return ErrFull
		}
		s.held = append(s.held, b...)
		return nil
	}
	n, ok := s.send(b)
	if ok && n < len(b) {
		s.held = append(s.held[:0], b[n:]...)
	}
	return nil
}

// Held is how many bytes were written but not sent yet.
func (s *Sock) Held() int { return len(s.held) }

// Close closes the connection, and tells the Handler ErrClosed. A second call does nothing.
func (s *Sock) Close() { s.close(ErrClosed) }

func (s *Sock) close(why error) {
	if s.fd < 0 {
		return
	}
	s.loop.socks[s.fd] = nil
	_ = unix.Close(s.fd)
	s.fd = -1
	s.held = nil
	s.handler.Closed(why)
}

// send sends what it can; false says that the connection is over.
func (s *Sock) send(b []byte) (n int, ok bool) {
	for n < len(b) {
		m, err := unix.Write(s.fd, b[n:])
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return n, true
		case err != nil:
			s.close(fmt.Errorf("the connection broke off: %w", err))
			return n, false
		default:
			n += m
		}
	}
	return n, true
}

// ready does what the connection is ready for.
func (s *Sock) ready(events uint32) {
	if events&unix.EPOLLOUT != 0 {
		s.connecting = false
		if len(s.held) > 0 {
			n, ok := s.send(s.held)
			if !ok {
				return
			}
			if s.held = s.held[:copy(s.held, s.held[n:])]; len(s.held) == 0 && cap(s.held) > 4<<10 {
				s.held = nil
			}
		}
	}
	over := events&(unix.EPOLLERR|unix.EPOLLHUP|unix.EPOLLRDHUP) != 0
	for (over || events&unix.EPOLLIN != 0) && s.fd >= 0 && s.read(over) {
	}
}

// read reads once, and says whether there may be more: where the peer has closed there
// always is, until its end has been read.
func (s *Sock) read(over bool) bool {
	n, err := unix.Read(s.fd, s.loop.in)
	switch {
	case errors.Is(err, unix.EINTR):
		return true
	case errors.Is(err, unix.EAGAIN):
		return false
	case err != nil:
		s.close(fmt.Errorf("the connection broke off: %w", err))
		return false
	case n == 0:
		s.close(io.EOF)
		return false
	}
	if err := s.dec.feed(s.loop.in[:n], time.Now()); err != nil {
		s.close(err)
		return false
	}
	// What arrives after a read that did not fill the buffer is another edge.
	return over || n == len(s.loop.in)
}
