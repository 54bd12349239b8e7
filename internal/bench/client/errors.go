package client

import "errors"

var (
	// ErrProtocol is the error of an answer that is no HTTP/1.1, or no SSE, as the
	// relay speaks it.
	ErrProtocol = errors.New("not the protocol")
	// ErrStatus is the error of an answer with another status than the one needed.
	ErrStatus = errors.New("refused")
	// ErrClosed is the error of a connection that was closed on this side, or by a
	// Loop that ended.
	ErrClosed = errors.New("closed")
	// ErrFull is the error of a Sock that keeps more than it may for a peer that does
	// not read.
	ErrFull = errors.New("the peer does not read")
	// ErrPlatform is the error of a Loop where there is no epoll.
	ErrPlatform = errors.New("crowds of observers need Linux")
)
