// Package auth tests who may see and do what, on everything as it is shipped: a relay
// with --auth jwt, its broker and a worker, over HTTP alone.
//
//	help_test.go     a fabric with credentials, and those who call it
//	agent_test.go    the agent that answers
//	reads_test.go    what the broker is asked
//	routes_test.go   every route, as everybody: what is not the caller's does not exist
//	targets_test.go  what is asked of each route
//	meet_test.go     chats of one name of many users and tenants
//	owner_test.go    AUTH-01: whose a run is; OPS-03: which is in no number
//	expiry_test.go   AUTH-02: no stream outlives its credential, and nothing is lost by it
//
// The routes are those that the relay itself names in /openapi.json, so that a new one
// without expectations fails.
package auth
