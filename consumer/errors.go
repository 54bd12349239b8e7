package consumer

import (
	"errors"
	"fmt"
	"time"
)

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

// How a client's stream can end, besides ErrIdle. Each is final: the stream
// gives it again on every later call.
var (
	// ErrUnavailable means that the run had started and can no longer be had.
	// What the observer holds of it may be a part: reload the chat's history.
	ErrUnavailable = errors.New("run is unavailable, reload history")

	// ErrPersistence means that the run has ended and was not saved.
	ErrPersistence = errors.New("run was not saved")

	// ErrSuperseded means that a newer run took the chat.
	ErrSuperseded = errors.New("run was superseded")

	// ErrInterrupted means that the stream broke and could not be taken up again
	// within the attempts allowed; it wraps the last attempt's error. The run
	// may well go on: watching again from the cursor loses nothing.
	ErrInterrupted = errors.New("stream interrupted")

	// ErrSwitchedOff means that the chat may not be watched at the moment, on any relay.
	// It is matched by the *HTTPError, whose RetryAfter says when to ask again. Until then
	// there are the chat's history and Client.Snapshot; watching again from the cursor
	// loses nothing.
	ErrSwitchedOff = errors.New("watching is switched off")

	// ErrContentType means that a 200 was no event stream; something between
	// client and relay answered in its place.
	ErrContentType = errors.New("not an event stream")

	// ErrNotModified means that a snapshot is still the one of the given ETag.
	ErrNotModified = errors.New("snapshot not modified")

	// ErrClosed means that Close was called.
	ErrClosed = errors.New("stream closed")
)

// Why a client gave up a connection and came back with its cursor. They are
// seen in the log and under ErrInterrupted.
var (
	// ErrGap means that a frame did not follow what is held.
	ErrGap = errors.New("frame does not follow the cursor")

	// ErrTimeout means that nothing arrived for longer than a live stream may be silent.
	ErrTimeout = errors.New("connection is silent")
)

// HTTPError is an answer other than the ones asked for. Its strings come from the
// server and are not to be trusted.
type HTTPError struct {
	Status     int
	Code       string        // stable code of the problem, "" where the answer had none
	Title      string        // of the problem
	Detail     string        // of the problem, or the beginning of an answer that is none
	RetryAfter time.Duration // as the server asked, 0 where it did not
}

func (e *HTTPError) Error() string {
	s := fmt.Sprintf("HTTP %d", e.Status)
	if e.Code != "" {
		s += fmt.Sprintf(" %.60q", e.Code)
	}
	if e.Detail != "" {
		return s + fmt.Sprintf(": %.300q", e.Detail)
	}
	if e.Title != "" {
		return s + fmt.Sprintf(": %.100q", e.Title)
	}
	return s
}

// codeSwitchedOff is what a relay calls it.
const codeSwitchedOff = "switched_off"

// Is makes an answer match ErrSwitchedOff that says so.
func (e *HTTPError) Is(target error) bool {
	return target == ErrSwitchedOff && e.Code == codeSwitchedOff
}

// temporary reports whether the same request may fare better later. Watching that was
// switched off may, but its observers are better off with the snapshot meanwhile.
func (e *HTTPError) temporary() bool {
	return e.Code != codeSwitchedOff && (e.Status >= 500 || e.Status == 408 || e.Status == 429)
}
