package worker

import (
	"errors"
	"fmt"

	"github.com/rejoin/rejoin/internal/turns"
)

// Why a worker takes no turns.
var (
	// ErrNotRunning says that the worker has not opened its work queue yet.
	ErrNotRunning = errors.New("the worker has not begun to take turns")
	// ErrDraining says that the worker was told to stop.
	ErrDraining = errors.New("the worker is draining and takes no more turns")
)

// state is what Ready has to know of Run.
type state struct {
	claimer *turns.Claimer
	stop    <-chan struct{} // closed once it was told to stop
}

// Ready says why the worker takes no turns: ErrNotRunning, ErrDraining, or why the work
// queue could not be read when it was asked last. nil says that it takes them, or would, had it
// a place. It asks nobody.
func (w *Worker) Ready() error {
	s := w.state.Load()
	if s == nil {
		return ErrNotRunning
	}
	select {
	case <-s.stop:
		return ErrDraining
	default:
	}
	if err := s.claimer.Failing(); err != nil {
		return fmt.Errorf("the work queue cannot be read: %w", err)
	}
	return nil
}
