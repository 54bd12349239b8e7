package main

import (
	"time"

	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/config"
)

// opsFlags say where a process that serves nothing else tells how it is.
func opsFlags(s *config.Set, c *app.Config) {
	s.Add(hostPort(&c.OpsAddr), "ops-addr",
		"Where to serve /livez, /readyz and /metrics, to whoever asks: keep it inside. Without it, nowhere.")
}

// lifecycleFlags say where a relay tells how it is, how long a stream lasts, and how a
// relay leaves.
func lifecycleFlags(s *config.Set, c *app.Config) {
	c.Streams = app.StreamConfig{MaxAge: time.Hour, KeepAlive: 10 * time.Second, WriteTimeout: 10 * time.Second, BrokerPatience: time.Minute}
	s.Add(hostPort(&c.OpsAddr), "ops-addr",
		"Where to serve /metrics, and /livez and /readyz too, to whoever asks: keep it inside.\nWithout it they are at --addr.")
	s.Add(config.Duration(&c.Streams.MaxAge, time.Second, 30*day), "max-stream-age",
		"After which an open stream is closed between frames, 10 % more or less; its reader comes back at its place.")
	s.Add(config.Duration(&c.Streams.KeepAlive, 100*time.Millisecond, 15*time.Second), "keep-alive", "The longest time that an open stream is silent.")
	s.Add(config.Duration(&c.Streams.WriteTimeout, 100*time.Millisecond, 10*time.Minute), "write-timeout",
		"How long a reader may take for 64 KiB before its stream is cut.")
	s.Add(config.Duration(&c.Streams.BrokerPatience, time.Second, time.Hour), "broker-patience",
		"How long an open stream waits for a broker that does not answer, before its reader is sent elsewhere.")
	s.Add(config.Duration(&c.DrainDelay, 0, time.Hour), "drain-delay",
		"How long to serve on as before after the first SIGTERM or SIGINT, but unready: for load balancers that\nsee that late. --grace begins after it.")
}
