// Package limits holds relays at their limits: readers that stop reading, that come
// all at once, that are too many; requests that take their time. Each relay is a process
// of its own where it is about what a process holds.
//
//	help_test.go     relays, readers that measure, readers that stall
//	narrow_*.go      connections that take little
//	stalled_test.go  1,000 readers that stop reading beside 1,000 that read
//	full_test.go     OPS-02: more readers than there may be files, connections or streams
//	herd_test.go     OPS-02: 1,000 readers of a relay that is killed
//	slow_test.go     requests and readers that take their time
package limits
