// Package stamp makes the events that benchmarks publish, finds them again in what
// observers receive, and keeps account of it.
//
//   - event.go: [Append], one event of an exact size with its number and the time it
//     was due, and [Open], the event that they follow.
//   - scan.go: [Scan] and [Scanner], which find the stamps in raw bytes.
//   - ledger.go: [Ledger], what one observer holds, and [Counts], what many of them do;
//     holes.go the numbers missing so far.
//
// A stamp stands inside the delta of a TEXT_MESSAGE_CONTENT, so that it is still there
// after deltas were joined in a snapshot. It is found without decoding JSON: neither it
// nor its surroundings have a character that JSON escapes.
//
// The package is pure: no clock, no goroutine, no I/O, and no allocation per event.
// Nothing here is safe for concurrent use.
package stamp
