// Command rejoin is the fabric in one binary.
//
//	main.go      the table of commands, and what every call goes through
//	command.go   what a command is, and how its error becomes an exit code
//	signals.go   the first signal stops, the second hurries
//	flags.go     flags that several commands share
//	url.go       where the relay is, for publish, tail and probe
//	dev.go       rejoin dev: everything on this machine
//	relay.go     rejoin relay
//	janitor.go   rejoin janitor
//	init.go      rejoin init: the streams and buckets in NATS
//	nats_flags.go  which broker, how to connect to it, what its streams look like
//	publish*.go  rejoin publish: from standard input to a run
//	tail*.go     rejoin tail: a run in the terminal
//	probe*.go    rejoin probe: whether a deployment keeps the contract
//	bench*.go    rejoin bench, and the processes that it measures
//	printable.go text from outside, made harmless for a terminal
//	version.go   rejoin version
//
// The parts are wired in internal/app; nothing here knows how. Results go to standard
// output, everything else to standard error.
//
// Who may block whom: a command runs in one goroutine, besides which publish has one
// that reads its input and one that sends. Commands end when their context does.
package main
