// Package agui reads AG-UI events and folds them into snapshots. An event is
// one JSON object that this package never decodes and never re-encodes: it is
// checked once, looked at where it lies, and passed on byte for byte.
//
// What it owns:
//
//   - scan.go: [Scan], the one check every event passes at the door, and
//     [Event], what a transport needs to know of an event afterwards.
//   - lex.go: the JSON grammar beneath it, and text.go the strings of that
//     grammar with their UTF-8. Both are iterative, so that no input can
//     exhaust the stack, and allocate nothing.
//   - errors.go: [SyntaxError] and the kinds of it.
//   - types.go: the names of the event types that somebody here acts on.
//   - fold.go: [Fold], which joins adjacent deltas, and merge.go the rule for
//     it; arena.go holds the folded bytes.
//   - lines.go: events as lines ([OneLine], [Lines]) and as a JSON array
//     ([AppendArray]).
//
// Order: a fold is a filter over neighbours. It never reorders and never drops
// an event; what it gives out reduces to the same state as what went in,
// wherever the sequence is cut. What is not known is passed through untouched.
//
// The package is pure: no clock, no goroutine, no I/O. Nothing here blocks.
package agui
