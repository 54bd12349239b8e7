package proc_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rejoin/rejoin/internal/bench/proc"
)

// roleEnv names what a copy of the test binary is to be instead of a test.
const roleEnv = "REJOIN_PROC_ROLE"

// noContext is for processes that no test waits for.
var noContext = context.Background()

// roles are the processes that tests start.
var roles = map[string]func(){
	"serve":  serve,
	"burn":   burn,
	"parent": parent,
	"fails":  func() { fmt.Fprintln(os.Stderr, "no room on the disk"); os.Exit(3) },
	"silent": hang,
	"stdin":  func() { fmt.Println("at x"); _, _ = io.Copy(io.Discard, os.Stdin) },
}

func TestMain(m *testing.M) {
	if role := roles[os.Getenv(roleEnv)]; role != nil {
		role()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// serve takes connections and looks at nothing else, so that only a signal ends it.
func serve() {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		os.Exit(1)
	}
	fmt.Println("some words before")
	fmt.Println("serving at", ln.Addr())
	for {
		if _, err := ln.Accept(); err != nil {
			os.Exit(1)
		}
	}
}

// burn uses the processor, then says so.
func burn() {
	for u, err := proc.Self(); u.CPU < 300*time.Millisecond; u, err = proc.Self() {
		if err != nil {
			os.Exit(1)
		}
	}
	fmt.Println("at x")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// hang is what a process does that says nothing more and does not end either.
func hang() { time.Sleep(time.Hour) }

// parent has a child of its own.
func parent() {
	self, err := os.Executable()
	if err != nil {
		os.Exit(1)
	}
	var s proc.Set
	c, err := s.Start(noContext, proc.Spec{Name: "grandchild", Path: self, Env: []string{roleEnv + "=serve"}, Says: "serving"})
	if err != nil {
		os.Exit(1)
	}
	fmt.Println("grandchild at", c.Addr())
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	hang()
}
