package producer

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/rejoin/rejoin/subjects"
)

// Config says how a Producer works. The zero value is ready.
type Config struct {
	// Lease is how long this process may be silent before its runs are taken for
	// abandoned; 0 means subjects.Lease. It is rounded up to whole seconds.
	Lease time.Duration
	// MaxEventBytes is the largest event; 0 means subjects.MaxEventBytes.
	MaxEventBytes int
	// MaxPendingEvents and MaxPendingBytes bound what one run holds that the
	// broker has not acknowledged; past them Publish blocks. 0 means 1,024 events
	// and 8 MiB. One event may always be pending, however large it is.
	MaxPendingEvents int
	MaxPendingBytes  int
	Metrics          Metrics
	Logger           *slog.Logger // may be nil
}

// The buffer holds four full records: one in flight, and enough gathered behind it
// for the caller not to wait for the ack.
const (
	defaultPendingEvents = 4 * subjects.MaxRecordEvents
	defaultPendingBytes  = 8 << 20
)

func (c Config) withDefaults() Config {
	c.Lease = cmp.Or(c.Lease, subjects.Lease)
	c.MaxEventBytes = cmp.Or(c.MaxEventBytes, subjects.MaxEventBytes)
	c.MaxPendingEvents = cmp.Or(c.MaxPendingEvents, defaultPendingEvents)
	c.MaxPendingBytes = cmp.Or(c.MaxPendingBytes, defaultPendingBytes)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Metrics is told what happens. A nil function is not called. They are called from
// many goroutines at once and must not block.
type Metrics struct {
	Started    func()                                                 // a run was started
	Resumed    func()                                                 // a run was taken over
	Published  func(bytes int)                                        // an event was accepted
	Stored     func(events, bytes int, took time.Duration)            // a record was acknowledged
	Checkpoint func(events, bytes int, took time.Duration, err error) // a segment was stored, or was not
	Saved      func(took time.Duration, err error)                    // an application's save returned or was given up
	Stalled    func()                                                 // a run waits for a checkpoint
	Fenced     func()                                                 // another writer took a run
	Ended      func(subjects.End)                                     // this process stored a run's end
}
