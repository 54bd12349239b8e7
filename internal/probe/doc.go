// Package probe checks a deployment from outside: as a producer and as observers would,
// over HTTP and by nothing but the contract, it makes a run whose every byte it knows and
// looks whether observers get exactly that.
//
//	config.go    Config, Check and what the zero values mean
//	probe.go     Run: the order of the checks, and cleaning up
//	outside.go   why nothing could be checked
//	live.go      checks while the run goes on: independence, dropping and resuming, late readers
//	late.go      checks once it has ended, from every kind of cursor
//	retained.go  checks of what is left after some time
//	plan.go      the run's events, and what a snapshot of them may look like; pure
//	ledger.go    what one observer was given so far, and whether the next frame may follow; pure
//	follow.go    one observer, from its first frame to the end of the run
//	stream.go    one connection of an observer
//	produce.go   starting, publishing at a pace, ending
//	progress.go  how far the run is, for those who wait for it
//	api.go       requests that are not streams, and what refusals say
//	errors.go    the sentinels
//
// The client of package consumer heals what a relay gets wrong. That is why the probe
// reads frames by itself and has each of them prove that it belongs where it stands.
//
// # Who blocks whom
//
// During the live checks each observer has a goroutine and a connection of its own, and
// the producer too; Run waits for all of them. Every wait is bounded, so that a
// deployment that hangs fails its checks.
package probe
