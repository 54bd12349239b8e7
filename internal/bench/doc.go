// Package bench measures the fabric on the work it exists for, as its users meet it: over
// HTTP and SSE, from another process than the relay's, with the broker in a third one.
//
//	bench.go      Workload and Case; which there are, in which order
//	run.go        Run: each case on a fabric of its own, in rounds
//	env.go        Env: what a workload has
//	fabric.go     broker and relay of one case, and the floor's server
//	window.go     what the processes use while something is measured
//	profile.go    profiles of broker and relay over the same time
//	machine.go    what the figures were measured on
//	errors.go     the sentinel errors
//	target.go     what is put to work: the fabric, or the bare SSE server
//	pacer.go      many producers on one thread, each as feed.go says; burst.go a batch for each
//	native.go     many producers in Go, which need no relay
//	crowd.go      many observers on one thread, each as observer.go says
//	paced.go      producers and observers at a pace, and what is measured of them
//	setup.go      runs that are filled before anything is measured
//	attach.go     one observer that comes, gets what it lacks, and leaves
//	follow.go     clients that keep a stream open or ask again, whose bytes are counted
//	probe.go      one producer and one observer beside whatever happens
//	backlog.go    connections that a full accept queue has put off
//	metric.go     a number of the relay's own
//
// and a file for each workload. Below it: stamp (events that carry number and time), client
// (the generator's own HTTP and SSE), stats (histograms and schedules), proc (the processes),
// profile (their profiles), floor (what the same work costs at least), report (what is said).
//
// A figure counts only with its Counts: whatever is missing, doubled or out of order makes
// a result wrong, however fast it was. Load is open-loop: events are due at fixed times, and
// latency counts from when they were due.
//
// Ordering: cases run one after the other, each on a broker and a relay that nothing used
// before. Run returns once every process that it started is gone. Workloads start
// goroutines, and wait for them before they return.
package bench
