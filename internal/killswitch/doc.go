// Package killswitch is how watching is turned off, for a tenant or for everybody, for
// all chats or for a part of them, on all relays within a second and without a restart.
// Producers, workers and what is stored never look at it.
//
//	setting.go  Setting and Target: what is off, for whom; setting and listing it
//	off.go      which chats a percentage means; pure
//	state.go    what a process knows of all settings; pure
//	watcher.go  Watcher: keeps that up to date
//
// # Order
//
// A Watcher hears of a change when the broker republishes it, which may be missed, and
// reads all settings once a second and after a reconnect, maybe from a replica that
// lags. Of each setting the highest revision counts, whichever way it came, so it never
// goes back. While the broker is away what was last known stays.
//
// Off takes a lock for a moment and waits for nothing. Setting and listing wait for the broker.
package killswitch
