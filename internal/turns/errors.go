package turns

import (
	"encoding/json"
	"errors"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// Errors of this package besides those of package runs; all are matched with errors.Is.
var (
	// ErrOptions: something was asked for that is not allowed. Its text says what is.
	ErrOptions = errors.New("not allowed")
	// ErrNotFound: the chat has no run, or the run no open question, of that name.
	ErrNotFound = runs.ErrNotFound
	// ErrQueueFull: as many turns wait in the chat, or messages for the run, as may.
	ErrQueueFull = runs.ErrQueueFull
	// ErrAnswered: the question has another answer; matched by *AnsweredError.
	ErrAnswered = errors.New("the question has another answer")
)

// AnsweredError says which answer a question has.
type AnsweredError struct{ Outcome json.RawMessage }

func (e *AnsweredError) Error() string {
	return "the question has another answer: " + string(e.Outcome)
}

// Is makes the error match ErrAnswered.
func (e *AnsweredError) Is(target error) bool { return target == ErrAnswered }

// StaleError says that a run is over that was to be stopped.
type StaleError struct {
	RunID subjects.RunID
	End   subjects.End
}

func (e *StaleError) Error() string { return "the run is over: " + string(e.End.Reason) }
