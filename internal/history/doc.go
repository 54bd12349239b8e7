// Package history is the built-in saver's stream: the turns of a chat as they ended,
// kept for good or as long as the operator wants.
//
//	history.go  History: Append, Read, Has
//	turn.go     Turn and its stored form
//	mark.go     the headers of a stored message; pure
//	append.go   storing a turn exactly once
//	read.go     the newest turns, read backwards
//	before.go   what stands of them before another turn; pure
//	nats.go     asking the stream's leader
//	errors.go   the sentinels
//
// # How it is stored
//
// One subject a chat, one message a turn; a turn that is larger than a message has
// several, one behind the other. Each is published with the expectation that the
// subject still ends with the message read before (compare-and-set). The broker keeps
// that expectation as a header, and so every message points to the one before it: the
// newest turns are read backwards from the last message, without a consumer and
// without looking at another chat. Each message also names the newest turns before it,
// so that one look at the last one tells whether a turn is stored already.
//
// # Ordering and consistency
//
// A turn that Append has returned for is seen by every Read that begins afterwards, by
// whichever process: both ask the stream's leader, never a replica. Turns stand in the
// order in which they were saved, except that one saved late stands where it was
// started. A turn is seen whole or not at all.
//
// # Who blocks whom
//
// Nothing here has a goroutine, holds a lock or keeps anything between calls. Writers of
// one chat at the same time take turns by compare-and-set, those of different chats
// know nothing of each other. One that died in the middle leaves parts that readers
// pass over and that hold nobody up.
package history
