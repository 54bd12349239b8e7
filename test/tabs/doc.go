// Package tabs holds the tests of what several tabs of one person do to a relay, and of
// tabs that sleep and come back: how many connections they need, that watching changes
// nothing, and that a tab which only waits sees what the others begin.
//
//	help_test.go        two relays, and a worker whose answers can be held up
//	connections_test.go six connections and no more; one, with HTTP/2
//	repeat_test.go      tabs that ask and leave, again and again
//	second_test.go      a tab that only waits
//
// Cases that were met in the field are tests named after their ids. What a browser has to
// do about them is tested with the browser client.
package tabs
