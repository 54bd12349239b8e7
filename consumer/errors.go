package consumer

import "errors"

// Frames and their SSE form.
var (
	// ErrUnknownFrame is returned by ParseFrame for a well-formed frame of a
	// type this version does not know. A client skips such frames.
	ErrUnknownFrame = errors.New("unknown frame type")

	// ErrFrame is returned by ParseFrame for what is no frame of protocol 1.
	ErrFrame = errors.New("malformed frame")

	// ErrTooLarge is returned by Decoder.Next for a message above its limit, and
	// by the client, whose cursor still stands before that message: watching
	// again from it with a higher limit goes on without loss.
	ErrTooLarge = errors.New("message too large")
)
