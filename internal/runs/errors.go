package runs

import (
	"errors"

	"github.com/rejoin/rejoin/subjects"
)

// Errors of this package; all are matched with errors.Is.
var (
	// ErrNotFound: no such run, pointer, segment or record is stored.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the value was changed since it was read; read again.
	ErrConflict = errors.New("changed meanwhile")
	// ErrFenced: another writer owns the run.
	ErrFenced = errors.New("another writer owns the run")
	// ErrEnded: the run has its end. It is wrapped by *EndedError.
	ErrEnded = errors.New("the run has ended")
	// ErrSuperseded: a newer run took the chat. It is wrapped by *EndedError.
	ErrSuperseded = errors.New("a newer run took the chat")
	// ErrLogLost: the broker no longer has the run's log or its stream.
	ErrLogLost = errors.New("the run's log is gone from the broker")
	// ErrNotProvisioned: a stream or bucket does not exist yet.
	ErrNotProvisioned = errors.New("the fabric's streams do not exist")
	// ErrForbidden: the broker's permissions do not let this user do it.
	ErrForbidden = errors.New("the broker does not permit this user")
	// ErrNotConnected: the connection to the broker is down at the moment.
	ErrNotConnected = errors.New("not connected to the broker")
	// ErrRefused: what exists cannot become what is needed without losing something.
	ErrRefused = errors.New("refused")
	// ErrAlreadyStreaming: the chat's run is active; matched by *AlreadyStreamingError.
	ErrAlreadyStreaming = errors.New("the chat has an active run")
	// ErrAlreadyStarted: the client token started a run before; matched by *AlreadyStartedError.
	ErrAlreadyStarted = errors.New("this token has started a run")
	// ErrQueueFull: as many turns wait in the chat as may.
	ErrQueueFull = errors.New("as many turns wait in this chat as may")
)

// AlreadyStreamingError names the active run that kept another from starting.
type AlreadyStreamingError struct{ RunID subjects.RunID }

func (e *AlreadyStreamingError) Error() string {
	return "the chat has an active run: " + string(e.RunID)
}

// Is makes the error match ErrAlreadyStreaming.
func (e *AlreadyStreamingError) Is(target error) bool { return target == ErrAlreadyStreaming }

// AlreadyStartedError names the run that the same client token started before.
type AlreadyStartedError struct{ RunID subjects.RunID }

func (e *AlreadyStartedError) Error() string {
	return "this token has started run " + string(e.RunID)
}

// Is makes the error match ErrAlreadyStarted.
func (e *AlreadyStartedError) Is(target error) bool { return target == ErrAlreadyStarted }

// EndedError says that, and how, a run ended. It is ErrEnded, and ErrFenced too,
// since whoever wrote the end took the run from the writer that meets it.
type EndedError struct {
	End subjects.End
	Seq uint64 // seq of the run's last event
}

func (e *EndedError) Error() string {
	return "the run has ended: " + string(e.End.Reason)
}

// Is makes the error match ErrEnded and ErrFenced, and ErrSuperseded where it says so.
func (e *EndedError) Is(target error) bool {
	return target == ErrEnded || target == ErrFenced || target == ErrSuperseded && e.End.Superseded
}
