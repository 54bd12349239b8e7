// Package demo is the page on which a person tries what the fabric does: send, leave, come
// back, stop, answer, kill the producer, and see what the wire carries. It owns the page
// and how it is served; it is an option of a relay, and only "rejoin dev" takes it.
//
//	handler.go  Handler: /demo and below
//	files.go    the page's files, as they are embedded
//	kill.go     POST /demo/kill
//	page/       the page's sources, in TypeScript, on the browser client's
//	dist/       what "make web" has made of them; a test fails when it is stale
//
// Nothing of the page comes from anywhere but its own origin, which its
// Content-Security-Policy holds it to. A Handler starts no goroutine and blocks nobody.
package demo
