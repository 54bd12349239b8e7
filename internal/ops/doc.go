// Package ops is what operators and their machines ask of a process, whatever its role:
// whether it lives, whether it is ready, and its numbers.
//
//	canary.go   asking the broker whether it answers
//	handler.go  /livez, /readyz and /metrics
//	server.go   the listener of its own that they are served on
//
// # Ordering and blocking
//
// The server answers from Start to Close: before there is a broker it is alive and
// not ready, and while the process drains it still says so. Close comes after everything
// else has stopped. All requests are bounded in size, time and number, and many of
// them at once cost the broker one question a second.
package ops
