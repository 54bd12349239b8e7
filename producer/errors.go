package producer

import (
	"errors"
	"fmt"

	"github.com/rejoin/rejoin/internal/runs"
)

// Errors of this package; all are matched with errors.Is.
var (
	// ErrFenced: another writer owns the run. Nothing can be published any more.
	ErrFenced = runs.ErrFenced
	// ErrEnded: the run has its end; matched by *EndedError.
	ErrEnded = runs.ErrEnded
	// ErrSuperseded: a newer run took the chat; matched by *EndedError.
	ErrSuperseded = runs.ErrSuperseded
	// ErrLogLost: the broker no longer has the run's log.
	ErrLogLost = runs.ErrLogLost
	// ErrNotFound: there is no such run.
	ErrNotFound = runs.ErrNotFound
	// ErrNotProvisioned: the fabric's streams do not exist; start a relay first.
	ErrNotProvisioned = runs.ErrNotProvisioned

	// ErrClosed: the run was finished, released or closed by this process, or its
	// Producer was.
	ErrClosed = errors.New("closed")
	// ErrEvent: what was to be published is no event; matched by *EventError.
	ErrEvent = errors.New("not an event")
	// ErrTooLarge: the event is larger than allowed; matched by *EventError.
	ErrTooLarge = errors.New("event too large")
	// ErrGap: events before this one are missing; matched by *GapError.
	ErrGap = errors.New("events before this one are missing")
	// ErrOptions: Start or Finish was asked for something that is not allowed.
	ErrOptions = errors.New("not allowed")
	// ErrAlreadyStreaming: the chat's run is active; matched by *AlreadyStreamingError.
	ErrAlreadyStreaming = runs.ErrAlreadyStreaming
	// ErrAlreadyStarted: the client token started a run before; matched by *AlreadyStartedError.
	ErrAlreadyStarted = runs.ErrAlreadyStarted
	// ErrBegun: the run of this turn has begun before, or is being ended at this moment and never will.
	ErrBegun = errors.New("the turn has begun before, or is being ended")
	// ErrNotBegun: the run is that of a turn, and waits for the worker that will begin it.
	ErrNotBegun = errors.New("the run's turn waits for a worker")
	// ErrSkipped: returned by a save that did not write since the chat has moved on.
	ErrSkipped = errors.New("skipped")
	// ErrSaveRunning: a save has not returned though its time was over.
	ErrSaveRunning = errors.New("a save is still running")
)

// EndedError says how a run ended that the caller meant to write.
type EndedError = runs.EndedError

// EventError says why an event was refused. Nothing of it was stored, and the run
// goes on.
type EventError struct {
	// Err is an *agui.SyntaxError, or says how large the event may be. Its text
	// may be shown to whoever sent the event.
	Err error
	// Limit is the number of bytes that are allowed where the event was too
	// large, 0 for any other fault.
	Limit int
}

func (e *EventError) Error() string { return e.Err.Error() }

// Unwrap returns what was wrong.
func (e *EventError) Unwrap() error { return e.Err }

// Is makes the error match ErrTooLarge or ErrEvent.
func (e *EventError) Is(target error) bool {
	if e.Limit > 0 {
		return target == ErrTooLarge
	}
	return target == ErrEvent
}

func tooLarge(size, limit int) *EventError {
	return &EventError{Limit: limit, Err: fmt.Errorf("event too large: %d bytes, allowed are %d", size, limit)}
}

// GapError says that PublishAt was given a number beyond the next one.
type GapError struct{ Expected uint64 }

func (e *GapError) Error() string {
	return fmt.Sprintf("events are missing: expected number %d next", e.Expected)
}

// Is makes the error match ErrGap.
func (e *GapError) Is(target error) bool { return target == ErrGap }

// AlreadyStreamingError names the active run that kept another from starting.
type AlreadyStreamingError = runs.AlreadyStreamingError

// AlreadyStartedError names the run that the same client token started before.
type AlreadyStartedError = runs.AlreadyStartedError
