// Package agui reads AG-UI events and folds them into snapshots. An event is
// one JSON object that is never decoded and never re-encoded on its way: it is
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
//     it; mark.go what is kept of an event so that it is scanned only once;
//     arena.go holds the folded bytes.
//   - open.go: [Open], what a run has begun and not ended; close.go the events
//     that end it, and those of a run as a whole.
//   - question.go: questions to people, how they are asked, closed and
//     recognised; interrupt.go the ones that AG-UI ends a run with.
//   - input.go: the inputs of turns, RunAgentInput and {"text":…}; settle.go
//     what earlier messages lack when such a text follows them.
//   - messages.go: [Messages], what a chat's turns come to; message.go one of them.
//   - state.go: [State], what they make of the chat's state; patch.go JSON patches.
//   - members.go looks into JSON that was scanned, object.go builds it.
//   - lines.go: events as lines ([OneLine], [Lines]) and as a JSON array
//     ([AppendArray]).
//
// Order: a fold is a filter over neighbours. It never reorders and never drops
// an event; what it gives out reduces to the same state as what went in,
// wherever the sequence is cut. What is not known is passed through untouched.
//
// The package is pure: no clock, no goroutine, no I/O. Nothing here blocks.
package agui
