// Package runs is what producers, relays and janitors know about runs in common:
// their log, their entries, the pointers and leases, and how a run that nobody
// will finish is ended.
//
//	store.go     the store: a connection, the partitions
//	provision.go what the fabric needs of the broker, and making it
//	adapt.go     what of a stream's settings has to change, and what may not
//	workers.go   the consumer of the work queue
//	forbidden.go what the user may not ask
//	unanswered.go  why nothing came of what was asked: no connection, no permission
//	trouble.go   how often a trouble that lasts is logged
//	post.go      messages on their way to the streams, and their acknowledgements
//	post_lost.go those that none comes for
//	appender.go  one run's records by post, for a writer that does not wait
//	replies.go   questions that have several answers
//	together.go  the same question, asked by many at the same time
//	ack.go       what an acknowledgement says
//	nats.go      reads at the stream's leader, compare-and-set writes, error kinds
//	ping.go      whether the broker stores and answers
//	log.go       a run's log: the last record, appending with a fence, settling lost acks
//	page.go      reading the log and the segments forward, in bounded pages
//	entry.go     a run's entry: who writes it, where its segments end, its end
//	pointer.go   a chat's pointer: moving it, and waiting for it to move
//	changes.go   all entries and pointers, read and as they change
//	segment.go   segments: stored once, read in order
//	start.go     starting a run: record, entry, pointer, the older run's end
//	promote.go   the next turn of a chat's queue gets its time
//	queued.go    runs whose turn has not begun: looked after, expired, stopped
//	turn.go      what a turn asks, and its place in the work queue
//	control.go   stops, answers and messages: first one wins
//	watch_control.go  a run's controls as they come
//	question.go  what a run has asked, and closing it
//	closed.go    what a run's log says of that
//	memory.go    what an agent keeps of a chat between its turns
//	switch.go    kill switches: stored, read all at once, heard
//	lease.go     a producer process's claim to be alive
//	reconnect.go telling waiters that the connection is back
//	end.go       ending a run that is not one's own
//	janitor.go   the sweep: abandoned and superseded runs get their end
//	view.go      what a sweep sees at its beginning
//	evict.go     the sweep: ended runs leave, and what belongs to no run is tidied
//
// # Ordering and consistency
//
// Every decision is read from the leader of a stream and made by compare-and-set
// on the message it was read from. Only Page and Segments may be answered by a
// replica: what they return carries dense seqs, so a caller sees by itself when a
// replica lags. A run's entry is created before its chat's pointer names it and
// outlives its log and its segments, because the fence "subject must be empty"
// opens again once a log is purged.
//
// Nothing here holds a lock across a call to the broker, and no method blocks
// another. All of Store is safe for concurrent use.
package runs
