// Package agui is the agent that any AG-UI HTTP agent becomes: it posts the turn's
// RunAgentInput to a URL and publishes the events of the answer, byte for byte.
//
//	agent.go    Agent: one turn from the request to the end of the answer
//	config.go   Config and its limits
//	request.go  the request: body, headers, redirects, and when it is tried again
//	reply.go    an answer that is not a stream of events
//	watch.go    giving up on an agent that says nothing
//	sse.go      the events in the answer
//	last.go     RUN_FINISHED, which is the end only if nothing follows
//	errors.go   what can go wrong, in words for the people who watch
//
// A turn ends well only with a terminal event of the agent's own. An answer that ends
// without one, breaks off, or holds what is not an event is an error, never a clean
// end. After RUN_FINISHED the answer is read on, for as long as Config.Linger, and
// the event is published when that is over: agents go on behind it, with a RUN_STARTED or
// without. Where they do without, it passes as a RAW event and another has to come. So
// does a RUN_STARTED that is not the answer's first event, and begins nothing anew.
//
// A request that may have reached the agent is never repeated.
//
// Agent.Run blocks until the turn is over, has no goroutine of its own, and reads no
// faster than events are published. Ending its context aborts the request at once.
package agui
