//go:build !unix

package process

import (
	"os"
	"os/exec"
)

var (
	terminate = os.Kill
	kill      = os.Kill
)

func group(*exec.Cmd) {}

func reap(cmd *exec.Cmd, sweep func()) {
	_ = cmd.Wait() // its error says what ProcessState does
	sweep()
}

func signalGroup(cmd *exec.Cmd, s os.Signal) { _ = cmd.Process.Signal(s) }

func exitOf(state *os.ProcessState) Exit { return Exit{Code: state.ExitCode()} }

// Deaf reports that the process has closed its standard input, where that can be told.
func (p *Process) Deaf() bool { return false }
