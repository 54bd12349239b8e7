// Package e2e holds the tests that need a whole fabric: a producer, a broker,
// relays, and observers over real HTTP. Those named after an id settle a fault that
// users of other systems met in the field.
//
//	exact_test.go           every reader ends with exactly what was published
//	help_test.go            what a raw observer holds, and every route to a run
//	gate_test.go            readers made to stand still at a step
//	seam_test.go            events published during a handshake
//	announce_test.go        a run is announced before its first event
//	silence_test.go         connections and runs that say nothing
//	handshake_test.go       runs that end during a handshake, or just had
//	every_seq_test.go       a reconnect at every seq of a turn
//	cursor_test.go          cursors at every edge of the window, and bad ones
//	headers_test.go         no answer that a cache may keep
//	duplicate_test.go       the previous turn's message, and lost acknowledgements
//	terminal_test.go        two ends, failed runs, runs that wait
//	cut_test.go             connections cut at every byte, or closed by age
//	supersede_test.go       readers of runs that a newer one replaced
//	reuse_test.go           ids are never used again
//	save_test.go            saves that fail, are cancelled or hang
//	approval_test.go        answered approvals and forms stay answered
//	ids_test.go             hostile names from the start to the eviction
//	observers_test.go       observers that stall, fall behind, or get single bytes
//	disconnect_test.go      observers that leave, and come back for the rest
//
// Faults that are made, not waited for:
//
//	broker_restart_test.go  readers across a broker that stops or is killed
//	broker_outage_test.go   a relay that has lost the broker for long
//	broker_lost_test.go     a broker that lost what it had
//	broker_pointer_test.go  a chat's pointer moves while a relay cannot see it
//	broker_publish_test.go  publishing while the broker is away, or full
//	broker_limits_test.go   evictions and changed limits beside live runs
//	kill_dev_test.go        the whole process, killed at any moment
//	kill_writer_test.go     who writes over HTTP through all of that
//	kill_producer_test.go   a producer that is killed
//	kill_relay_test.go      a relay that is killed
//	slow_stalled_test.go    observers that take nothing any more
//	slow_leak_test.go       observers that leave at every moment
//	big_snapshot_test.go    snapshots of any size, and what they cost
//	big_log_test.go         large events by the thousand, and a log without segments
//	big_event_test.go       events around the limits, over HTTP
//	big_load_test.go        numbers given out under load, and across producers
package e2e
