package probe

import "errors"

// Errors of Run; all are matched with errors.Is.
var (
	// ErrFailed: at least one check failed. The text says how many.
	ErrFailed = errors.New("the deployment does not keep the contract")
	// ErrUnchecked: nothing could be checked, since the deployment could not be reached, or
	// does not let the caller in. The text says which.
	ErrUnchecked = errors.New("could not be checked")
	// ErrUnauthenticated is within an ErrUnchecked: it wants another token, or one at all.
	ErrUnauthenticated = errors.New("not authenticated")
	// ErrConfig: a Config that cannot be used; the text names the field.
	ErrConfig = errors.New("bad configuration of a probe")

	// errIdle is a 204.
	errIdle = errors.New("204, nothing there")
	// errNoAnswer: none came in time.
	errNoAnswer = errors.New("no answer")
	// errToken: there is none to call with.
	errToken = errors.New("token")
	// errLeft: an observer left on purpose.
	errLeft = errors.New("left")
)
