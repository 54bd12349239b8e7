// Package harness boots a whole fabric for one test: a broker, and any number of
// relays and producers, each on a connection of its own that the test can cut.
//
//	fabric.go    the broker, and producers on it
//	broker.go    a broker in a process of its own, to be killed
//	binary.go    the rejoin command, built, and run as a process
//	monitor.go   what the broker holds on behalf of others
//	producer.go  a producer in a process of its own, to be killed
//	worker.go    a worker in a process of its own, to be killed
//	working.go   a worker in the test's own process
//	process*.go  processes that a test starts
//	wait.go      waiting for numbers
//	relay.go     a relay with everything a real one has, behind real HTTP
//	steps.go     stopping a relay's readers at a step, and a proxy before a relay
//	wire.go      one answer of a relay, as it stands on the wire
//	raw.go       frames that are too large to be held
//	state.go     what a client makes of events: a reference
//	observe.go   observers: what a reader holds, held against what was published
//
// A fabric belongs to its test: everything is closed, and waited for, when the test
// ends. Nothing is shared between tests.
package harness
