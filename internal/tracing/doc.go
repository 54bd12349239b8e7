// Package tracing is how a trace goes through the fabric: from a request to the relay,
// through NATS to the worker, and on to the agent and the application's saver.
//
//	context.go  where a trace is: in a context, in HTTP headers, in what is stored
//	span.go     Tracer and Span, which cost nothing where nothing is recorded
//	export.go   Exporter: spans to an OTLP collector
//
// A trace context that came along goes on whether or not anything is recorded here. Nothing is
// recorded of single events: a stream is one span, however long it is.
//
// # Blocking
//
// Recording never waits: spans that a collector does not take in time are dropped, and
// counted. Only Close waits, as long as its context allows.
package tracing
