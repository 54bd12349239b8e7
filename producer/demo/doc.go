// Package demo is an agent to watch: it needs no model and says the same thing in
// the same words each time.
//
//	script.go  Script: the events of one turn
//	story.go   the words
//	loop.go    Loop: turns in one chat, one after the other, at a reader's pace
//
// A turn has a reasoning part, a tool call with its result, and an answer in text,
// as small deltas. Loop blocks until its context is done, and has no goroutine.
package demo
