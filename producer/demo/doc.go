// Package demo is an agent to watch: it needs no model and says the same thing in
// the same words each time.
//
//	script.go   Script: the events of one turn, and the parts it is made of
//	story.go    the words
//	loop.go     Loop: turns in one chat, one after the other, at a reader's pace
//	agent.go    Agent: answers the turns of any chat, for a worker
//	plan.go     what the words of a message ask of it
//	people.go   what it says to people and asks them
//	speaker.go  publishing at a reader's pace
//
// A turn has a reasoning part, a tool call with its result, and an answer in text, as
// small deltas. The Agent quotes the message it answers and asks, in the middle of the
// answer, for a permission (demo.permission: allow or deny). These words in a message
// change that, in any case and together:
//
//	form      asks with a form too (demo.form)
//	long      talks for a minute; no permission
//	tool      waits for a tool for a minute, unless it is stopped; no permission
//	stubborn  the same, and stopping does not help
//	error     fails in the middle of the answer; no permission
//	quick     no permission and no pauses
//	approval  asks for the permission all the same
//
// Loop and Agent.Run block until their context is done or the turn is, and have no
// goroutine. A stubborn Run returns a minute later at most.
package demo
