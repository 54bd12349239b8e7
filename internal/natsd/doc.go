// Package natsd runs a NATS server with JetStream inside this process: the
// broker of `rejoin dev` and of every test.
//
// It owns the server's options, its life and its log lines:
//
//   - config.go  what can be chosen, and its translation into server options
//   - server.go  Start, Stop, Restart, Shutdown, Connect
//   - log.go     the server's log lines, handed to slog
//   - errors.go  the sentinel errors
//
// Ordering: Start returns only when the server accepts connections and
// JetStream works; Stop and Shutdown return only when it is down, its files
// are closed and its address is free.
//
// Blocking: Start, Stop, Restart and Shutdown block one another and may take
// as long as the server does. Connect and ClientURL never wait for them.
package natsd
