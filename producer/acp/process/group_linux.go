package process

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// group gives a command a process group of its own, and has it killed when the thread
// that starts it is gone: with us, if we are killed ourselves.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// reap waits for a command. It sweeps its group while the command has ended but is not
// reaped: until then its id, which is the group's, cannot become another's.
func reap(cmd *exec.Cmd, sweep func()) {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	sweep()
	_ = cmd.Wait() // its error says what ProcessState does
}
