// Package chats holds the tests of what several clients do to one chat at once, over
// HTTP and through two relays: sending, steering, stopping and answering, held against a
// worker and against producers over HTTP that are played by hand.
//
//	help_test.go    two relays, and a worker that does one step at a time
//	send_test.go    many sends at once, order, tokens
//	stop_test.go    stops at every moment of a run's life
//	answer_test.go  two answers, and answers that come too late
//	steer_test.go   messages for a run that is answering
//	ingest_test.go  the same for runs that are fed over HTTP
//
// Cases that were met in the field are tests named after their ids.
package chats
