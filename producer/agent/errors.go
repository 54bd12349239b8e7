package agent

import "errors"

// Why a turn is over. ErrStopped, ErrSuperseded and ErrDraining are causes of a turn's
// context.
var (
	// ErrStopped: somebody stopped the turn.
	ErrStopped = errors.New("the turn was stopped")
	// ErrSuperseded: a newer run took the chat, or somebody else ended this one.
	ErrSuperseded = errors.New("the turn's run was ended by somebody else")
	// ErrDraining: the worker shuts down and its time is over.
	ErrDraining = errors.New("the worker is shutting down")
	// ErrTooMany: more questions are open than people can be asked at once.
	ErrTooMany = errors.New("too many questions are open")
	// ErrOver: the turn takes no events any more.
	ErrOver = errors.New("the turn is over")
)
