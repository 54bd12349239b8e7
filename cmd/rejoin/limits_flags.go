package main

import (
	"time"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/config"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/relay"
)

// limitFlags say how much anybody may have of a relay.
func limitFlags(s *config.Set, c *app.Config) {
	l := &c.Limits
	l.OwnerObservers, l.OwnerSends = 100, 120
	l.HeaderBytes, l.Input = relay.DefaultHeaderBytes, turns.DefaultMaxInput
	l.Linger = consumer.DefaultLinger
	l.ReplayBytes, l.CatchUps, l.Snapshots = consumer.DefaultMaxBytes, consumer.DefaultMaxCatchUps, consumer.DefaultMaxSnapshots
	const many = 1_000_000
	s.Add(config.Number(&c.MaxObservers, 0, many), "max-observers",
		"Streams and waiting requests at once; beyond them the answer is 503. 0 takes 10,000, or nine of ten connections\nwhere those are fewer.")
	s.Add(config.Number(&l.OwnerObservers, 0, many), "max-owner-observers",
		"As many of them may be one user's; beyond them the answer is 429. 0: no limit. Without --auth there are no users.")
	s.Add(config.Number(&l.RunObservers, 0, many), "max-run-observers", "Streams of one run; beyond them the answer is 503. 0: no limit.")
	s.Add(config.Number(&l.OwnerSends, 0, many), "max-owner-sends",
		"Messages that one user may send in a minute, a quarter of them at once; beyond them the answer is 429.\n0: no limit. Without --auth there are no users.")
	s.Add(config.Number(&l.Sends, 0, many), "max-sends", "Messages that a relay takes in a second, whoever sends them; beyond them the answer is 503. 0: no limit.")
	s.Add(config.Number(&l.Connections, 0, many), "max-connections",
		"Connections at once. Of further ones only those are answered that stop, answer, send or ask how the relay is.\n0 takes as many as the process may have open files (ulimit -n), less some that it needs itself, at most 40,000.")
	s.Add(config.Size(&l.HeaderBytes, 4<<10, 1<<20), "max-headers", "The largest request line with its headers; beyond it the answer is 431.")
	s.Add(config.Size(&l.Input, 1<<10, 16<<20), "max-input", "The largest input of a message; beyond it the answer is 413.")
	s.Add(config.Size(&l.ReplayBytes, 1<<20, 16<<30), "max-replay-bytes",
		"Memory for what observers get who catch up: pages of logs, and snapshots. Who comes when it is taken waits,\nin order; who takes too long meanwhile is cut.")
	s.Add(config.Number(&l.CatchUps, 1, 10_000), "max-catch-ups", "Reads of logs under way at once.")
	s.Add(config.Number(&l.Snapshots, 1, 1_000), "max-snapshots", "Snapshots being built at once.")
	s.Add(config.Duration(&l.Linger, 10*time.Millisecond, time.Hour), "linger",
		"How long the newest events of a run stay in memory after its last observer has left: whoever comes back\nmeanwhile costs the broker next to nothing.")
}
