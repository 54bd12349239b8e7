// Package floor is what the same work costs at least on the same machine, so that figures
// are ratios.
//
//	sse.go        Server: bare SSE over net/http, broadcasting from memory
//	topic.go      what it keeps of a topic
//	pubsub.go     bare NATS publish and subscribe
//	jetstream.go  JetStream's asynchronous publish
//	copy.go       a plain copy of bytes
//
// The server promises order within a topic and nothing else: it stores nothing, numbers
// nothing, knows no users, and lets a slow reader fall behind without end. A publisher waits
// for no reader; a reader waits for its connection alone. It has no goroutine besides those
// of net/http.
package floor
