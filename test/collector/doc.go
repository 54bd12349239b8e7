// Package collector is what tests send spans to: it takes them as an OTLP collector over
// HTTP does, and remembers them.
//
//	collector.go  Collector and Span
package collector
