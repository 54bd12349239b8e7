// Package turns is how messages to a chat become runs: sending, steering, stopping and
// answering on one side, and the work queue that workers claim turns from on the other.
//
//	queue.go   Queue: both sides of the work queue
//	turn.go    Turn: what is asked, as it is stored
//	send.go    sending: the run is made, the chat's pointer moves, the turn is queued
//	steer.go   a message for the run that is answering
//	stop.go    asking for a run to be stopped
//	answer.go  answering a question; an interrupt's answer starts the next turn
//	outcome.go which answers a question takes
//	claim.go   a worker's side: claim, extend, done
//	workers.go the consumer that all workers share
//	errors.go  the errors
//
// # Order
//
// A turn's content is stored before its run can be seen, its run before the chat's
// pointer names it, and the pointer before the turn can be claimed. Whoever dies in
// between leaves what a janitor finishes or removes. Turns that wait behind others of
// their chat get their time in the order in which they were sent. A turn may be
// claimed more than once; it begins once, see producer.Begin.
//
// All methods are safe for concurrent use, and no call waits for another.
package turns
