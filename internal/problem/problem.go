package problem

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

// The codes of the product. They are stable: clients switch on them.
const (
	BadRequest          = "bad_request"
	UnsupportedProtocol = "unsupported_protocol"
	Unauthenticated     = "unauthenticated"
	InvalidToken        = "invalid_token"
	TokenExpired        = "token_expired"
	Forbidden           = "forbidden"
	NotFound            = "not_found"
	MethodNotAllowed    = "method_not_allowed"
	TooLarge            = "too_large"
	AlreadyStreaming    = "already_streaming"
	RunEnded            = "run_ended"
	Fenced              = "fenced"
	NotBegun            = "not_begun"
	SeqGap              = "seq_gap"
	StaleRun            = "stale_run"
	AlreadyAnswered     = "already_answered"
	Unavailable         = "unavailable"
	TooManyRequests     = "too_many_requests"
	SwitchedOff         = "switched_off"
	Internal            = "internal"
)

// known gives each code its status and title.
var known = map[string]struct {
	status int
	title  string
}{
	BadRequest:          {http.StatusBadRequest, "The request is malformed"},
	UnsupportedProtocol: {http.StatusBadRequest, "This protocol version is not spoken here"},
	Unauthenticated:     {http.StatusUnauthorized, "A credential is needed"},
	InvalidToken:        {http.StatusUnauthorized, "The credential is not accepted"},
	TokenExpired:        {http.StatusUnauthorized, "The credential has expired"},
	Forbidden:           {http.StatusForbidden, "The credential does not allow this"},
	NotFound:            {http.StatusNotFound, "Nothing of that name exists"},
	MethodNotAllowed:    {http.StatusMethodNotAllowed, "This path does not take this method"},
	TooLarge:            {http.StatusRequestEntityTooLarge, "The request is too large"},
	AlreadyStreaming:    {http.StatusConflict, "The chat has an active run"},
	RunEnded:            {http.StatusConflict, "The run has ended"},
	Fenced:              {http.StatusConflict, "Another producer owns the run"},
	NotBegun:            {http.StatusConflict, "The run's turn waits for a worker"},
	SeqGap:              {http.StatusConflict, "Events are missing before this one"},
	StaleRun:            {http.StatusConflict, "The run is over"},
	AlreadyAnswered:     {http.StatusConflict, "The question has another answer"},
	Unavailable:         {http.StatusServiceUnavailable, "Not available at the moment"},
	TooManyRequests:     {http.StatusTooManyRequests, "Too many requests"},
	SwitchedOff:         {http.StatusServiceUnavailable, "Watching is switched off"},
	Internal:            {http.StatusInternalServerError, "A fault of the server"},
}

// Codes are all codes there are, in order.
func Codes() []string { return slices.Sorted(maps.Keys(known)) }

// Error is an answer that tells a client what is wrong. An Error is a value:
// do not change one that is shared, take a copy by With, After or Because.
type Error struct {
	// Status is the HTTP status. 0 means the one of Code.
	Status int

	// Code is the stable name for programs. "" means internal.
	Code string

	// Title says the kind of problem in words. "" means the one of Code.
	Title string

	// Detail says what is wrong in this request and what is allowed. It is
	// shown to the client, cleaned of control characters and cut to 512 bytes.
	Detail string

	// Extra are further members of the answer, e.g. run_id, line,
	// expected_seq. The standard members cannot be replaced by it.
	Extra map[string]any

	// RetryAfter is sent as Retry-After, rounded up to seconds. 0 means none.
	RetryAfter time.Duration

	// Err is the cause, for the log and errors.Is. It is never shown.
	Err error
}

// New is an Error with the code's own status and title. Without args, format
// is taken as it is, so that a detail may hold a percent sign.
func New(code, format string, args ...any) *Error {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	return &Error{Code: code, Detail: format}
}

// With returns a copy of e that has one more member in its answer.
func (e *Error) With(name string, value any) *Error {
	c := *e
	c.Extra = maps.Clone(e.Extra)
	if c.Extra == nil {
		c.Extra = map[string]any{}
	}
	c.Extra[name] = value
	return &c
}

// After returns a copy of e that asks the client to wait for d before it
// tries again. Callers spread d, or those refused together come back together.
func (e *Error) After(d time.Duration) *Error {
	c := *e
	c.RetryAfter = d
	return &c
}

// Because returns a copy of e whose cause is err.
func (e *Error) Because(err error) *Error {
	c := *e
	c.Err = err
	return &c
}

// Error is for logs: it has the cause, which the client never sees.
func (e *Error) Error() string {
	s := e.Code + ": " + e.Detail
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// complete returns a copy with status, code and title filled in.
func (e *Error) complete() Error {
	c := *e
	if c.Code == "" {
		c.Code = Internal
	}
	k, ok := known[c.Code]
	if !ok {
		k.status = http.StatusInternalServerError
	}
	if c.Status < 400 || c.Status > 599 {
		c.Status = k.status
	}
	if c.Title == "" {
		c.Title = k.title
	}
	if c.Title == "" {
		c.Title = http.StatusText(c.Status)
	}
	return c
}
