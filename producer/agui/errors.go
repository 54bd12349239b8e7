package agui

import (
	"errors"
	"fmt"
)

// What Run returns. The texts are shown to people; what only operators should see, such
// as addresses, goes to the log.
var (
	// ErrUnreachable: no connection, or none that got an answer.
	ErrUnreachable = errors.New("the agent cannot be reached")
	// ErrIdle: not a byte for Config.IdleTimeout.
	ErrIdle = errors.New("the agent has said nothing for too long")
	// ErrRedirect: a redirect to another host, or one that would lose the request.
	ErrRedirect = errors.New("the agent is somewhere else: its redirect is not followed")
	// ErrStatus is matched by every StatusError.
	ErrStatus = errors.New("the agent refused")
	// ErrNotEvents: the answer is not text/event-stream.
	ErrNotEvents = errors.New("the agent's answer is not a stream of events")
	// ErrBroken: the connection broke before a terminal event.
	ErrBroken = errors.New("the agent's answer broke off")
	// ErrNoTerminal: the answer ended without RUN_FINISHED or RUN_ERROR.
	ErrNoTerminal = errors.New("the agent's answer ended without RUN_FINISHED or RUN_ERROR")
	// ErrMalformed: something in the answer is not an event.
	ErrMalformed = errors.New("the agent sent what is not an event")
	// ErrTooLarge: an event above Config.MaxEventBytes.
	ErrTooLarge = errors.New("the agent sent an event that is too large")
	// ErrEarlier: Config.Earlier failed.
	ErrEarlier = errors.New("the earlier messages of the chat cannot be read")
)

// StatusError is an answer with a status other than 200.
type StatusError struct {
	Status  int
	Excerpt string // of what the answer says, on one line, at most 300 bytes; may be ""
}

func (e *StatusError) Error() string {
	if e.Excerpt == "" {
		return fmt.Sprintf("the agent answered with status %d", e.Status)
	}
	return fmt.Sprintf("the agent answered with status %d: %s", e.Status, e.Excerpt)
}

// Is reports whether target is ErrStatus.
func (e *StatusError) Is(target error) bool { return target == ErrStatus }
