// Package translate turns what an ACP agent reports of one turn into AG-UI events.
//
//	translate.go  Translator: a turn from its start to its end, one update at a time
//	message.go    text and thoughts, in messages that follow one another
//	tool.go       tool calls: the call, its result, and its record as an activity
//	record.go     that record: what all updates of a call add up to
//	shown.go      the record as people see it
//	result.go     what a finished call has to say
//	plan.go       plans, and everything that is passed on as CUSTOM
//	question.go   permission requests and forms, as what people are asked
//	input.go      the user's message of a turn's input
//	parse.go      what an agent sends, checked
//	event.go      events as bytes, and strings cut into deltas
//	errors.go     what can be wrong with an update
//
// Order: events come out in the order of the calls that made them, within the call.
// Nothing is held back except a tool call's arguments, which may change until the call
// runs or somebody is asked about it.
//
// Ids have a prefix for their kind, the run's id and a counter, as AG-UI has one space
// for the ids of everything and agents number their own things anew for each turn:
//
//	text-RUN-1, thought-RUN-1      messages
//	tool-RUN-1                     a tool call; result-RUN-1 its result, activity-RUN-1 its record
//	plan-RUN                       the plan
//	user-RUN                       the user's message, where it came without an id
//
// An agent's own ids are kept where they belong to its record, and nowhere else.
//
// The package is pure: no clock, no goroutine, no I/O. What an agent sends is passed on
// as it is written wherever AG-UI has a place for it: numbers and escapes are not touched.
package translate
