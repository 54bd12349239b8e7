package client

import (
	"bytes"
	"time"
)

// Type says what a frame is. The zero Type is a message that is no frame of protocol 1,
// such as those of a bare SSE server.
type Type uint8

// The frame types of protocol 1.
const (
	Raw Type = iota
	Snapshot
	Event
	Synced
	End
)

// Frame is one SSE message, or a piece of one that has not come in one go. What it points
// to is valid during the call only.
type Frame struct {
	Type  Type
	Run   []byte // of the id; empty where there is none
	Seq   uint64 // of the id
	Data  []byte // of this piece
	First bool   // it begins with this piece
	Last  bool   // it is complete, blank line and all
}

// Handler is told what arrives on a connection.
type Handler interface {
	// Frame is told of each piece of each frame. at is when it was read.
	Frame(f *Frame, at time.Time)
	// Answer is told of a response that is complete: one that is no stream with its
	// body, at most 64 KiB of it, or a stream that the server has ended, with none.
	Answer(status int, body []byte, at time.Time)
	// Closed is told, once, that a Sock is closed, and why; ErrClosed where it was
	// closed on this side. A Conn tells nobody.
	Closed(err error)
}

const typePrefix = `{"type":"STREAM_`

// typeOf tells a frame's type from the begin of its data.
func typeOf(data []byte) Type {
	if !bytes.HasPrefix(data, []byte(typePrefix)) || len(data) < len(typePrefix)+2 {
		return Raw
	}
	switch data[len(typePrefix)] {
	case 'E':
		if data[len(typePrefix)+1] == 'N' {
			return End
		}
		return Event
	case 'S':
		if data[len(typePrefix)+1] == 'N' {
			return Snapshot
		}
		return Synced
	}
	return Raw
}
