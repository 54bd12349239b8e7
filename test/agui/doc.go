// Package agui holds the stock client test: transcripts of stock AG-UI agents, and the stock HttpAgent of
// @ag-ui/client that reads them. The claim is that a run read through Rejoin leaves that client with the same messages
// and the same state as the agent itself does.
//
// The package has tests only. They run Node with the packages of package.json (make setup installs them) and fail
// when these are missing.
//
//   - read.mjs lets the stock client read URLs and prints what it ended up with, talk.mjs lets it hold conversations;
//     client.mjs is one run of either.
//   - live/ is a stock agent at work. record/ runs the stock agents on a scripted model and keeps what they send. It has
//     packages of its own, which no test needs; see README.md.
//   - testdata/NAME.sse is an agent's response body, NAME.ndjson its events, one a line, NAME.input.json what was posted
//     to it, NAME.golden.json what the stock client makes of the body.
//   - client_test.go runs read.mjs, recording_test.go loads the recordings.
//   - direct_test.go reads the agents directly and keeps the golden files; snapshot_test.go reads snapshots of their runs.
//   - legacy_test.go reads the same runs from a relay, loss_test.go reads runs that are lost on the way; tap_test.go sees
//     what passes between relay and client.
//   - chain_test.go boots a relay and a worker before an agent; upstream_test.go is an agent by hand, converse_test.go a
//     client that talks to one.
//   - behind_test.go reads the recordings through all of that, talk_test.go and live_test.go hold conversations;
//     reload_test.go comes back in the middle, death_test.go lets the agent fail, stop_test.go stops it.
//   - interrupt_test.go answers what an agent ends its run to ask, text_test.go sends nothing but texts, header_test.go
//     looks at what else reaches the agent, and the log.
//   - rules_test.go states the rules of the stock client that the legacy wire is built on.
package agui
