package agui

import (
	"errors"
	"fmt"
)

// What can be wrong with an event. Each is matched by errors.Is on what [Scan]
// returns; ErrInvalid matches them all.
var (
	// ErrInvalid is matched by every [SyntaxError].
	ErrInvalid = errors.New("invalid event")
	// ErrSyntax: not JSON by RFC 8259.
	ErrSyntax = errors.New("not valid JSON")
	// ErrNotObject: empty, or JSON that is something other than an object.
	ErrNotObject = errors.New("not a JSON object")
	// ErrTrailing: more than white space after the object.
	ErrTrailing = errors.New("more than one JSON value")
	// ErrUTF8: bytes that are not UTF-8, surrogates and overlong forms included.
	ErrUTF8 = errors.New("not valid UTF-8")
	// ErrDepth: nested deeper than [MaxDepth].
	ErrDepth = errors.New("nested too deeply")
	// ErrNoType: no top-level "type" that is a non-empty string.
	ErrNoType = errors.New(`no "type"`)
	// ErrDuplicateType: more than one top-level "type", which readers would
	// understand differently.
	ErrDuplicateType = errors.New(`more than one "type"`)
	// ErrSize: larger than [MaxSize].
	ErrSize = errors.New("event too large")
)

// SyntaxError says why an event was refused. Its text is made to be shown to
// whoever sent the event: it says what is wrong, where, and what is allowed,
// is at most 200 bytes long and holds no byte of the event unescaped.
type SyntaxError struct {
	Offset int    // in bytes from 0, into what was given to Scan
	Kind   error  // one of the sentinels of this package
	Reason string // what is wrong and what is allowed
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid event at byte %d: %s", e.Offset, e.Reason)
}

// Unwrap returns the kind.
func (e *SyntaxError) Unwrap() error { return e.Kind }

// Is reports whether target is ErrInvalid, which every SyntaxError is.
func (e *SyntaxError) Is(target error) bool { return target == ErrInvalid }

func fail(at int, kind error, reason string) *SyntaxError {
	return &SyntaxError{Offset: at, Kind: kind, Reason: reason}
}

// unexpected is the error for a byte that the grammar has no place for.
func unexpected(b []byte, at int, want string) *SyntaxError {
	return fail(at, ErrSyntax, "expected "+want+", found "+found(b, at))
}

// found names what stands at a place in words that are safe to show anywhere.
func found(b []byte, at int) string {
	switch {
	case at >= len(b):
		return "the end"
	case b[at] > 0x20 && b[at] < 0x7f:
		return fmt.Sprintf("%q", rune(b[at]))
	default:
		return fmt.Sprintf("byte 0x%02X", b[at])
	}
}
