package config

import "errors"

// ErrHelp is returned by Set.Parse when --help or -h was given.
var ErrHelp = errors.New("help asked for")

// UsageError says what is wrong with how a command was called and what is allowed.
type UsageError struct{ Text string }

func (e *UsageError) Error() string { return e.Text }
