// Package traces tests that one trace goes from a request through the fabric to the agent and
// to whoever saves, with and without a collector.
//
//	trace_test.go  the tests
//	help_test.go   a relay, a worker, an agent and a saver of one test
package traces
