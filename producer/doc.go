// Package producer writes runs. It owns the way of an event from the caller's
// hands into a run's log, the segments that are made of it, and the run's end.
//
// A program calls Connect once, then for each answer Start, Publish for every event,
// and Finish; see the example. Events are AG-UI JSON, passed through as they are.
//
//	connect.go     the way in for a program with a NATS connection
//	producer.go    one process's producer: its lease, the runs it writes, closing
//	config.go      Config and Metrics
//	errors.go      the errors, sentinels and typed ones
//	start.go       starting a run, and beginning one that a turn has made
//	give_back.go   a turn whose beginning was given up before it was known to be stored
//	look.go        runs that somebody else has ended, unheard
//	controls.go    stops, answers and messages for the run
//	questions.go   what a run asks and nobody has answered yet
//	snapshot.go    all of a run so far, folded
//	memory.go      what a producer keeps of a chat from one run to the next
//	resume.go      taking a run over and reading back what no segment covers
//	run.go         Run: its state, what a caller may ask, and how it is lost
//	publish.go     publishing and flushing
//	hold.go        letting events wait for others that are about to come
//	queue.go       events that are numbered and not stored yet
//	writer.go      one record in flight, and who sends the next
//	slow.go        the goroutine that writes what has to wait, and large events in parts
//	history.go     records that are stored and not covered by a segment yet
//	checkpoint.go  storing segments while publishing goes on
//	finish.go      Finish: flush, save, last checkpoint, end
//	save.go        the application's save, within its limit
//	close.go       Release and Close
//	end.go         ending a run by its own fence, now or later
//
// # Order
//
// An event's number is its place among the calls of Publish of its run, and the
// order of the log. One record of a run is in flight at a time, and each is stored
// only behind the one before it, so that the log never has a gap, whatever the
// broker does. A segment is made only of events that the broker has acknowledged. The
// end is stored after the last event, and the entry changes after the end.
//
// # Who may block whom
//
// Publish blocks while its run's buffer is full, which it is while the broker is
// away, or while checkpoints fail and the log is about to drop what no segment
// covers, or while a question is not noted in its entry. Nothing else of a run blocks
// it, and no run blocks another: what hears of acknowledgements, for all runs, waits for
// none of them. A run has one goroutine, which listens for controls, one more while a
// checkpoint is due, and one while its writing has to wait for something but an
// acknowledgement; a Producer has three. All are waited for by Close; only a save that ignores
// its context may outlive it, and then Close says so.
package producer
