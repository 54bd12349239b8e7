//go:build unix

package relay

import "syscall"

// canTry says whether a write that does not wait is known here.
const canTry = true

// once writes to the socket, which never waits.
func (d *direct) once(fd uintptr) bool {
	for {
		n, err := syscall.Write(int(fd), d.b)
		switch err { //nolint:errorlint // a number, as the kernel gives it
		case nil:
			d.n = n
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
		default:
			d.err = err
		}
		return true
	}
}
