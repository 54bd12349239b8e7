package translate

import (
	"errors"
	"fmt"
)

var (
	// ErrMalformed: what the agent sent is not what ACP allows. No event was made of
	// it, and the turn goes on.
	ErrMalformed = errors.New("malformed")
	// ErrEnded: the turn has had its terminal event.
	ErrEnded = errors.New("the turn has ended")
)

// malformed says what is wrong, and with what.
func malformed(what, format string, args ...any) error {
	return fmt.Errorf("%w %s: %s", ErrMalformed, what, fmt.Sprintf(format, args...))
}
