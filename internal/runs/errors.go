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
)

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
