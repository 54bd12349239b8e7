package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// stopping tells a command of signals after the first, which ends its context.
type stopping struct {
	mu    sync.Mutex
	hurry func()
	grace time.Duration
}

// hurriedFor is how long a command may take after the second signal.
const hurriedFor = 3 * time.Second

// onSecond says what the second signal does, and how long a command may take after
// the first.
func (s *stopping) onSecond(grace time.Duration, hurry func()) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grace, s.hurry = grace, hurry
}

// onSignals returns a context that ends with the first SIGINT or SIGTERM. The second one
// hurries, or ends the process where nothing can be hurried; the third always does.
// A command that takes longer than it promised is ended too: whoever stopped it is
// better told so than left to wait.
func onSignals() (context.Context, *stopping) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &stopping{}
	got := make(chan os.Signal, 2)
	signal.Notify(got, os.Interrupt, syscall.SIGTERM)
	go func() { // as long as the process
		<-got
		cancel()
		s.mu.Lock()
		grace, hurry := s.grace, s.hurry
		s.mu.Unlock()
		if hurry == nil {
			signal.Stop(got) // from now on a signal ends the process
			return
		}
		late := time.NewTimer(grace + time.Second)
		select {
		case <-got:
			fmt.Fprintln(os.Stderr, "rejoin: again: breaking off what is still open")
			hurry()
			signal.Stop(got)
			time.Sleep(hurriedFor)
		case <-late.C:
		}
		fmt.Fprintln(os.Stderr, "rejoin: not everything could be stopped in time; what was acknowledged is stored, runs that lost their producer get their end from a janitor")
		os.Exit(exitFailed)
	}()
	return ctx, s
}
