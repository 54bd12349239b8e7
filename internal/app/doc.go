// Package app puts the parts together: it is the whole program behind the rejoin
// command, as one struct that a test boots exactly as it is shipped.
//
//	app.go       App: New, Run, Hurry, and where it serves
//	config.go    Config, its defaults and what it refuses
//	conn.go      how to connect: who, with which certificates
//	natscontext.go  the same out of a context of the nats command
//	broker.go    the connection: an embedded server or NATS elsewhere
//	lock_*.go    one process to a store
//	connect.go   waiting for a broker that is not there yet
//	replicas.go  a broker that has not the servers for the copies asked for
//	auth.go      who may use a relay, and on which addresses
//	relay.go     the parts of a relay, and the order in which they stop
//	init.go      Init: the streams and buckets, made or brought up to date
//	switch.go    Switches: the kill switches, read and set
//	janitor.go   RunJanitor: a janitor alone
//	worker.go    RunWorker: a worker alone, and the parts of one
//	agent.go     which agent it runs
//	page.go      the demo's page, and what it can do here
//	mortal.go    the demo's worker as a process that can be killed
//	mortal_*.go  one life of it: its connection, its log
//	earlier.go   what an agent is told of the turns before
//	metrics.go   the one registry, and what producers count
//	*_metrics.go what the connection, workers and janitors count
//	ops.go       health and numbers on an address of their own
//	trace.go     where spans go
//	logging.go   the logger that flags describe
//	version.go   what was built
//	errors.go    the errors
//
// # Order
//
// The addresses are taken first, and health is served from then on; then comes the
// broker, then what reads and writes through it. Stopping goes the other way: the relay turns unready and lets its streams and
// requests end, then runs that are still open are given up, then the janitor, the
// hub and the connection stop, and an embedded server last, so that everything
// before it could still be stored.
//
// Run blocks until all of that is over; nothing it started outlives it. Its time
// from the end of its context is bounded by Config.Grace, and by about a second after
// Hurry.
package app
