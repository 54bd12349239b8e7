// Package rpc is one end of newline-delimited JSON-RPC 2.0, as ACP agents speak it on
// their standard input and output.
//
//	peer.go     Peer: what arrives, in order, and the end
//	call.go     our calls and notifications
//	write.go    the queue of what is written, and how long a write may take
//	lines.go    reading lines, none longer than allowed
//	message.go  what a line says, and which lines say nothing
//	errors.go   JSON-RPC errors, and why a peer is over
//
// # Order
//
// One goroutine reads, the one that called Run. It handles each message before it reads
// the next: Handler's methods, the replies to our calls and nothing in between. So
// what came before a response has been handled when Call returns, and what came before a
// request has been handled when the handler sees it.
//
// # Who may block whom
//
// A handler that blocks holds up the other side, through the pipe: nothing is
// buffered here but the line at hand. What takes long replies later, from a goroutine of
// its own. Writes go through a short queue, so that a handler's reply does not wait
// for the other side to read, unless it has stopped reading; then the peer ends with
// ErrStalled.
//
// # Dirty input
//
// What is no JSON-RPC message is skipped and counted: banners, blank lines, escape
// sequences, halves of lines, JSON that is something else. Two messages on a line are both
// taken, one message over several lines is not. A line longer than allowed ends the
// peer, with memory for one such line in use.
package rpc
