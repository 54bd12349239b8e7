// Package turns holds the tests of turns as a whole: what is sent over HTTP, queued,
// answered by workers, watched and saved, with everything as it is shipped and with
// processes that are killed.
//
// Cases that were met in the field are tests named after their ids.
package turns
