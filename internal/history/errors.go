package history

import "errors"

// Errors of this package; all are matched with errors.Is.
var (
	// ErrTurn: what was to be appended is no turn. The text names what is wrong.
	ErrTurn = errors.New("not a turn that can be saved")
	// ErrTooLarge: the turn has more bytes than the history takes.
	ErrTooLarge = errors.New("the turn is too large for the history")
	// ErrLimit: Read was asked for fewer than 0 or more than MaxLimit turns.
	ErrLimit = errors.New("bad limit")
	// ErrNoStream: the broker has no history stream (any more).
	ErrNoStream = errors.New("the stream HISTORY does not exist")

	// errDamaged: a stored message is not what Append writes. Readers pass over it.
	errDamaged = errors.New("not a message of a saved turn")
	// errNone: no such message is stored.
	errNone = errors.New("no such message")
	// errReconnected: the connection came back, and the answer will not.
	errReconnected = errors.New("the connection was lost meanwhile")
)
