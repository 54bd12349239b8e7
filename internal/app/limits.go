package app

import (
	"fmt"
	"time"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/relay"
)

// LimitsConfig says how much anybody may have of a relay, besides how many observers
// there are. Zero values mean the defaults of the parts, where users have no limits of
// their own.
type LimitsConfig struct {
	relay.Limits

	Input       int // bytes of a message's input; 0 means turns.DefaultMaxInput
	ReplayBytes int // see consumer.HubConfig.MaxBytes
	CatchUps    int // see consumer.HubConfig.MaxCatchUps
	Snapshots   int // see consumer.HubConfig.MaxSnapshots

	Linger time.Duration // see consumer.HubConfig.Linger
}

// brokerFiles is how many files an embedded broker may need: those of its streams, and
// the connections of other processes.
const brokerFiles = 256

func (l LimitsConfig) check() error {
	for name, n := range map[string]int{"Input": l.Input, "ReplayBytes": l.ReplayBytes, "CatchUps": l.CatchUps, "Snapshots": l.Snapshots} {
		if n < 0 {
			return fmt.Errorf("%w: Limits.%s is %d and may not be negative", ErrConfig, name, n)
		}
	}
	return nil
}

// hub adds the limits to what a hub is made of.
func (l LimitsConfig) hub(c consumer.HubConfig) consumer.HubConfig {
	c.MaxBytes, c.MaxCatchUps, c.MaxSnapshots, c.Linger = l.ReplayBytes, l.CatchUps, l.Snapshots, l.Linger
	return c
}

// turns adds the limits to what a queue is made of.
func (l LimitsConfig) turns(c turns.Config) turns.Config {
	c.MaxInput = l.Input
	return c
}

// relay are the relay's own, in a process that has a broker inside or not.
func (l LimitsConfig) relay(broker bool) relay.Limits {
	if broker && l.SpareFiles == 0 {
		l.SpareFiles = brokerFiles
	}
	return l.Limits
}
