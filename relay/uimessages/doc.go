// Package uimessages says what the events of a run are in the AI SDK's UI message stream,
// version 1: one assistant message, told in chunks.
//
//	mapper.go    Mapper: events in, chunks out; how a message begins, and its steps
//	parts.go     text and reasoning
//	chunked.go   the events that carry their own start: TEXT_MESSAGE_CHUNK and its like
//	tools.go     tool calls and their results
//	questions.go questions to people, as approvals where they have options
//	data.go      activities, state, custom events: data parts
//	end.go       how a message ends
//	chunk.go     chunks, and reading events
//	input.go     the other way: what a client posts, as a RunAgentInput
//
// The same events make the same chunks, and a snapshot's events, which are the same but
// for joined deltas, chunks that make the same message. consumer/testdata/uimessages says so
// for this package and for its twin in TypeScript.
//
// The package is pure: no clock, no goroutine, no I/O. Chunks come in the order of the
// events, and are handed on at once; what is kept of a run is bounded.
package uimessages
