// Package ingest lets a producer in any language write runs over HTTP: the requests of
// protocol 1 (relay/PROTOCOL.md, "Producing"), on top of package producer.
//
//	handler.go    New, the routes, bodies that stay open
//	config.go     Config and Metrics
//	answers.go    bodies read and answers given; how an error becomes an answer
//	start.go      POST /runs
//	events.go     POST /runs/{run_id}/events
//	feed.go       one events request: its numbers, and a run that moved meanwhile
//	lines.go      a body's lines, each within the limit
//	buffers.go    what they are read into
//	room.go       what large lines take together
//	end.go        heartbeat and end
//	stop.go       runs that were asked to stop
//	sessions.go   the runs that this process holds for callers
//	give_up.go    those that nobody calls for any more, and all of them at the end
//
// # Whose run is it
//
// A run lives in the process that was called last. A call for a run that this process
// does not hold, or has lost to another since, takes it over; so a producer may sit
// behind any load balancer. A request in whose course the run is taken over or ended
// fails with it, unless nothing of the request had been stored: then it was this
// request that came last, and it takes the run back.
//
// A run without any call for the lease time is ended as abandoned. A call is an open
// events request too, silent or not; that its caller is gone shows when the
// connection does, so the server should use TCP keep-alives, as net/http's does.
//
// A run that was asked to stop is ended by its producer, or by the process that holds
// it a moment later.
//
// # Order, and who waits for whom
//
// Events of one body keep their order, and an events request is answered once all of them
// are stored. Two bodies at once for one run interleave by line; with Rejoin-First-Seq each line
// has its own place, and a line that came twice is stored once. A body is read no faster than
// the broker takes it. A request waits only for its own run.
package ingest
