// Package clients lets stock clients, as they come from npm, read runs of a real relay and a real
// worker, each through a proxy that cuts it off in the middle. The claim is that each ends with
// the producer's messages where it can resume at all, and knows when it cannot.
//
// The package has tests only. They run Node with the packages of package.json (make setup
// installs them) and fail when these are missing.
//
//   - node_test.go runs a script and talks with it, rig_test.go boots what it talks to, agent_test.go is
//     the agent, which stops in the middle until it is told to go on.
//   - say.mjs is what scripts have in common.
//   - vectors.mjs, vectors_test.go: consumer/testdata/uimessages held against the AI SDK itself.
//   - usechat.mjs is a page with useChat on React, as an application writes it; usechat_test.go reloads
//     it, cuts it off, leaves it.
//   - agui.mjs, agui_test.go: HttpAgent of @ag-ui/client, both lines of it.
//   - live.mjs, live_test.go: eventsource, fetch-event-source and eventsource-parser on /chat/live.
package clients
