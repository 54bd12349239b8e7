// Package subjects is the contract that producers, relays and janitors share
// through NATS: what everything is called, how it is encoded and how it is kept.
// Both ends of a run import it and nothing else of each other.
//
//	id.go       run ids: minted, parsed, and the partition they carry
//	token.go    the one encoding of outside strings into subject and key tokens
//	names.go    streams, buckets, subjects and keys
//	turn_names.go  the same for turns, controls and history
//	switch.go   the keys of the kill switches
//	trace.go    a W3C trace context: checked, and on messages
//	record.go   a record: one JetStream message of a run, its header and body
//	segment.go  a segment: compacted events as they lie in the key-value bucket
//	end.go      how and why a run ended
//	limits.go   every number about retention and size, with its reason
//	config.go   stream and bucket configurations made of those names and numbers
//
// The package is pure: no clock but the one that stamps a run id, no
// connection, no goroutine. All functions are safe for concurrent use.
package subjects
