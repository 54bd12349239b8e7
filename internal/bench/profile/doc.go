// Package profile takes profiles of another process over a time that nobody knows at its
// beginning.
//
//	serve.go  Serve: the process that is looked at
//	take.go   Start, Taking.Stop: the one that looks
//
// Both meet at a socket in a folder that only they know. Mutex and block profiles are of the
// time between Start and Stop; allocations are since the process began, so that they are
// kept twice: "go tool pprof -base" shows the difference.
//
// Serve has a goroutine for its listener and those of net/http, and waits for the first at
// the end; Start and Stop block for as long as the other process takes.
package profile
