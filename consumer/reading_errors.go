package consumer

import "errors"

// Reading a run from the broker.
var (
	// ErrIdle means that there is nothing to watch in a chat: no run is registered,
	// or the newest one has ended and was saved. Find returns it, and the client
	// for a 204 that answers its first request.
	ErrIdle = errors.New("nothing to watch in this chat")

	// ErrGone is returned while reading a run that was evicted meanwhile, or whose
	// log the broker has lost. The observer is to come back and will be told what
	// there is now.
	ErrGone = errors.New("the run is no longer kept")

	// ErrBrokerUnavailable, wrapped with its cause, is returned when the broker did not
	// answer in time or answered with less than was stored. Trying again helps.
	ErrBrokerUnavailable = errors.New("the broker cannot serve this run at the moment")
)
