// Package active is what one relay knows of the runs that are live: which there are and
// what each is doing, never what it says.
//
//	run.go           a run as the feed shows it
//	mirror.go        what is known of all runs and chats, and what a change makes of it
//	doubt.go         what a read of everything did not show, or showed otherwise
//	feed.go          who asks; beginning with the first, ending after the last
//	session.go       listening to changes, and reading everything again
//	room.go          the changes of one realm, for those who watch it
//	subscription.go  one of those
//	errors.go        what may go wrong
//
// All of it comes from the bucket: entries and pointers, as the broker republishes them
// and as they are read in pages. Nothing is created on the broker for it, and nothing is
// kept unless somebody asks. A change may be missed, so everything is read again now and
// then, when changes are known to be missed, and after a reconnect; whatever comes in
// which order, as often as it may, the mirror becomes what the bucket holds.
//
// # Ordering and blocking
//
// The changes of one run come in the order of its entry's revisions. A run that was told
// to have ended is not told of again. Nothing waits for a subscriber: a change is put
// once into the log of its realm, which all who watch the realm read at their own pace,
// and whoever falls out of that log gets ErrBehind. A realm that nobody watches costs a
// change nothing.
//
// # Memory
//
// A mirror holds about 300 bytes for each run and its chat that the bucket holds, which is
// those that are live and those that ended within the retention, and some 700 for one that
// is live. A realm's log holds what its slowest subscriber has not taken, Config.Backlog
// changes at the most.
//
// # What it costs
//
// A change is heard and applied in some 20 µs, whatever the number of subscribers, of whom
// only those of its realm are woken. Reading everything takes about 80 µs of a processor for each run, the
// broker's part included; a session rests for twenty times as long as its last read took.
package active
