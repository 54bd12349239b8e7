// Package agui holds the stock client test: transcripts of stock AG-UI agents, and the stock HttpAgent of
// @ag-ui/client that reads them. The claim is that a run read through Rejoin leaves that client with the same messages
// and the same state as the agent itself does.
//
// The package has tests only. They run Node with the packages of package.json (make setup installs them) and fail
// when these are missing.
//
//   - read.mjs lets the stock client read URLs and prints what it ended up with.
//   - record/ runs the stock agents on a scripted model and keeps what they send. It has packages of its own, which no
//     test needs; see README.md.
//   - testdata/NAME.sse is an agent's response body, NAME.ndjson its events, one a line, NAME.input.json what was posted
//     to it, NAME.golden.json what the stock client makes of the body.
//   - client_test.go runs read.mjs, recording_test.go loads the recordings.
//   - direct_test.go reads the agents directly and keeps the golden files; snapshot_test.go reads snapshots of their runs.
//   - legacy_test.go reads the same runs from a relay, loss_test.go reads runs that are lost on the way; tap_test.go sees
//     what passes between relay and client.
//   - rules_test.go states the rules of the stock client that the legacy wire is built on.
package agui
