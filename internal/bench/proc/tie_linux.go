package proc

import (
	"os/exec"
	"syscall"
)

// tie makes a process die with the one that started it, also when that one is killed.
func tie(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
