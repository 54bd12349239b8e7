package proc

import "errors"

var (
	// ErrStart is the error of a child that ended, or said nothing for too long, before it
	// served.
	ErrStart = errors.New("the process did not come to serve")
	// ErrUsage is the error of a system that does not say what a process uses.
	ErrUsage = errors.New("what a process uses cannot be read")
	// ErrFiles is the error of a limit of open files that is too low.
	ErrFiles = errors.New("too few open files are allowed")
)
