//go:build unix

package process

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	terminate = syscall.SIGTERM
	kill      = syscall.SIGKILL
)

func signalGroup(cmd *exec.Cmd, s os.Signal) {
	_ = syscall.Kill(-cmd.Process.Pid, s.(syscall.Signal)) // one that is gone needs none
}

func exitOf(state *os.ProcessState) Exit {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return Exit{Code: -1, Signal: unix.SignalName(status.Signal())}
	}
	return Exit{Code: state.ExitCode()}
}

// Deaf reports that the process, and all that inherited it, have closed the standard
// input that we write to.
func (p *Process) Deaf() bool {
	if p.Stdin == nil {
		return false
	}
	conn, err := p.Stdin.SyscallConn()
	if err != nil {
		return true
	}
	deaf := true
	err = conn.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd)}}
		n, err := unix.Poll(fds, 0)
		deaf = err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0
	})
	return err != nil || deaf
}
