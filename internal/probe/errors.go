package probe

import "errors"

// Errors of Run; both are matched with errors.Is.
var (
	// ErrFailed: at least one check failed. The text says how many.
	ErrFailed = errors.New("the deployment does not keep the contract")
	// ErrConfig: a Config that cannot be used; the text names the field.
	ErrConfig = errors.New("bad configuration of a probe")

	// errIdle is a 204.
	errIdle = errors.New("204, nothing there")
	// errLeft: an observer left on purpose.
	errLeft = errors.New("left")
)
