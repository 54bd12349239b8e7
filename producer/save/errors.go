package save

import (
	"errors"
	"fmt"
	"net/http"
)

// Errors of savers; all are matched with errors.Is.
var (
	// ErrStale: the chat has moved on, and nothing was written. The run ends with the
	// reason skipped.
	ErrStale = errors.New("the chat has moved on, nothing was written")
	// ErrRefused: the webhook's answer says that it will not take the turn. It is
	// wrapped by *RefusedError.
	ErrRefused = errors.New("the save was refused")
	// ErrUnconfirmed: time was over before the webhook confirmed the turn. It may be
	// stored all the same.
	ErrUnconfirmed = errors.New("the save was not confirmed in time")
	// ErrConfig: a webhook cannot be configured like this.
	ErrConfig = errors.New("bad webhook")
	// ErrSignature: a request was not signed with this secret, or too long ago.
	ErrSignature = errors.New("bad signature")
)

// RefusedError is an answer that no repetition would change. It is ErrRefused.
type RefusedError struct {
	Status  int
	Excerpt string // the beginning of the answer, one line, fit to be shown
}

func (e *RefusedError) Error() string {
	return ErrRefused.Error() + ": " + answerText(e.Status, e.Excerpt)
}

// answerText is an answer in a few words.
func answerText(status int, excerpt string) string {
	s := fmt.Sprintf("HTTP %d %s", status, http.StatusText(status))
	if excerpt != "" {
		s += ": " + excerpt
	}
	return s
}

// Is makes the error match ErrRefused.
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }
