//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// group gives a command a process group of its own.
func group(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// reap waits for a command, then sweeps its group.
func reap(cmd *exec.Cmd, sweep func()) {
	_ = cmd.Wait() // its error says what ProcessState does
	sweep()
}
