package rpc

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Why a peer is over; see Peer.Err.
var (
	// ErrEnded: the other side has closed its output.
	ErrEnded = errors.New("the agent has closed its output")
	// ErrLineTooLong: a line was longer than Config.MaxLine.
	ErrLineTooLong = errors.New("the agent wrote a line that is too long")
	// ErrStalled: the other side took nothing for Config.WriteTimeout.
	ErrStalled = errors.New("the agent does not read its input")
	// ErrRefused: the other side has closed its input.
	ErrRefused = errors.New("the agent has closed its input")
	// ErrClosed: our side closed the peer.
	ErrClosed = errors.New("the connection to the agent is closed")
)

// Codes of JSON-RPC and of ACP that we send or look for.
const (
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeAuthRequired   = -32000
	CodeNotFound       = -32002
)

// Error is a JSON-RPC error: the other side's answer to a call, or ours to a request.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string { return fmt.Sprintf("%s (JSON-RPC error %d)", e.Message, e.Code) }

// Errorf makes an error to reply with.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// errorOf reads the error member of a response. Whatever it is, it is an error: a
// call that fails in an odd way must not wait for ever.
func errorOf(raw json.RawMessage) *Error {
	e := &Error{}
	if json.Unmarshal(raw, e) != nil || e.Message == "" && e.Code == 0 {
		return &Error{Code: CodeInternal, Message: "the agent gave an error without a message", Data: raw}
	}
	return e
}

// replyError is what to send for an error of our own.
func replyError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: CodeInternal, Message: err.Error()}
}
