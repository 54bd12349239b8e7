// Package e2e holds the tests that need a whole fabric: a producer, a broker,
// relays, and observers over real HTTP. Those named after an id settle a fault that
// users of other systems met in the field.
//
//	exact_test.go    every reader ends with exactly what was published
//	help_test.go     what a raw observer holds, and every route to a run
//	gate_test.go     readers made to stand still at a step
//	seam_test.go     events published during a handshake
//	announce_test.go a run is announced before its first event
//	silence_test.go  connections and runs that say nothing
package e2e
