package ingest

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
)

// Config says how a Handler works.
type Config struct {
	Producer *producer.Producer // required
	// MaxEventBytes is the largest event, its line break not counted; 0 means
	// subjects.MaxEventBytes. The Producer's own limit counts too.
	MaxEventBytes int
	// Lease is how long a run may be without a call; 0 means subjects.Lease.
	Lease time.Duration
	// StopGrace is how long a producer has to end a run that it was asked to stop,
	// before the run ends without it; 0 means 1.5 s, so that whoever asked sees the end
	// within two.
	StopGrace time.Duration
	// MaxRuns is how many runs are held at once; 0 means 10,000.
	MaxRuns int
	// MaxLineBytes is what the large events that are being read may take together, the first
	// MiB of each not counted; 0 means 256 MiB, and one of MaxEventBytes fits always.
	MaxLineBytes int64
	Metrics      Metrics
	Logger       *slog.Logger // may be nil
}

const (
	defaultMaxRuns   = 10_000
	defaultStopGrace = 1500 * time.Millisecond
)

// Metrics is told what happens. A nil function is not called. They must not block.
type Metrics struct {
	Abandoned func() // a run had no call for the lease time
	Retaken   func() // a run came back from another process
}

func (c Config) withDefaults() Config {
	c.MaxEventBytes = cmp.Or(c.MaxEventBytes, subjects.MaxEventBytes)
	c.Lease = cmp.Or(c.Lease, subjects.Lease)
	c.StopGrace = cmp.Or(c.StopGrace, defaultStopGrace)
	c.MaxRuns = cmp.Or(c.MaxRuns, defaultMaxRuns)
	c.MaxLineBytes = cmp.Or(c.MaxLineBytes, roomBytes)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}
