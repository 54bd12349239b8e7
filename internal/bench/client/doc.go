// Package client is the generator's own HTTP/1.1 and SSE: just enough to produce and to
// watch, at a small part of what net/http costs.
//
//	frame.go       Frame and Handler: what is told of what arrives
//	decoder.go     answers as they come in pieces: head, chunks, body
//	sse.go         the messages of a stream in it
//	request.go     requests, and the chunks of a body that is streamed
//	source.go      addresses to dial from, so that ports never run out
//	conn.go        Conn: one connection, one goroutine that waits for it
//	body.go        Body: a body that is streamed over a Conn
//	runs.go        what is asked for most: runs made, ended, watched
//	loop_linux.go  Loop: thousands of connections, one thread
//	sock_linux.go  Sock: one of them
//	loop_other.go  where there is no epoll
//	errors.go      the sentinel errors
//
// Bytes are handed on where they were read: nothing is copied, kept or allocated for a
// frame that comes whole, and a snapshot of any size passes through one small buffer.
//
// Ordering: a Handler is told everything in the order of the wire, by the goroutine that
// reads. A Conn belongs to one goroutine; only Close may be called from another. A Loop
// has one goroutine, that of Run: its Socks and what they tell belong to it, and a
// Handler that blocks blocks them all.
package client
