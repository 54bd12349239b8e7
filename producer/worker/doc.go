// Package worker claims turns and runs an agent for each. It owns what is around an
// agent: beginning a turn's run at most once, the events that a client needs and the
// agent did not send, stopping, asking people, saving, and ending the run.
//
//	worker.go   Worker: claiming turns, how many at once, shutting down
//	config.go   Config and Metrics
//	ready.go    whether it takes turns
//	connect.go  Connect, the way in for other modules
//	job.go      one turn from its beginning to its end
//	output.go   the agent's events on their way into the run
//	ask.go      questions to people
//	controls.go what is sent to the run: stops, answers, messages
//	seal.go     the last events of a turn, whatever the agent did
//	trace.go     the turn as a part of a trace
//	finish.go   saving, ending, and what was said too late for this turn
//	merge.go    messages that came before the turn began
//
// # Order
//
// A turn is taken out of the queue once its run has begun, so a crash before that gives
// it to another worker, and a crash after it ends the run as abandoned. Events reach the run
// in the order of the agent's calls. Everything that the agent published before a
// question is stored before the question can be seen, and an answer is stored before
// the agent gets it. The last events are published, then the turn is saved, then
// the run ends.
//
// # Who may block whom
//
// A turn blocks no other. A stopped agent has a second to say its last words, after
// which the turn goes on without it; its place is free when it returns, or after ten
// seconds. Run waits for every goroutine but those of agents that never return, and
// says so.
package worker
