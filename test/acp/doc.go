// Package acp holds the tests of the ACP agent (package producer/acp) against ACP agents
// that are not ours: the example agent of github.com/coder/acp-go-sdk, and an agent on
// the npm package @agentclientprotocol/sdk that does what its prompt says. The claims are
// that nothing an agent says is lost, reordered or said twice, that people are asked once
// and agents answered once, and that the stock AG-UI client takes every turn.
//
// The package has tests only. They run Node with the packages of package.json (make setup
// installs them) and fail when these are missing.
//
//   - agent.mjs is the scripted agent; its steps are listed there.
//   - replay.mjs replays turns through the stock client of @ag-ui/client.
//   - turn_test.go is a worker in memory: the turn an agent sees, and what a worker does
//     around it. questions_test.go is its people.
//   - counterpart_test.go starts agents, stock_test.go the stock client.
//   - The others are the claims. Names with ids, such as ACP01, are those of faults seen
//     in the field.
package acp
