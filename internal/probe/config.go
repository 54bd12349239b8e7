package probe

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/rejoin/rejoin/subjects"
)

// Config says which deployment is probed, and how.
type Config struct {
	URL string // required: where a relay serves, with the path under which it is mounted

	Events int // of the run; 0 means 60; from MinEvents to MaxEvents
	Rate   int // events a second; 0 means 20; at most 10,000

	// Patience is how long an answer or the next frame may take, beyond the run's own
	// pace; 0 means 10 s.
	Patience time.Duration
	// MaxLag is how long an event may take from being sent to reaching an observer
	// while another one does not read; 0 means 2 s.
	MaxLag time.Duration

	// After says when to look, counted from the run's end, what is still retained.
	After []time.Duration
	// Retain is how long the deployment is meant to retain ended runs: before that the
	// run must be there. 0 means unknown: it must be there whole, or be gone.
	Retain time.Duration

	Header http.Header // sent with every request
	// Token gives the bearer token of each request; nil means none.
	Token func(context.Context) (string, error)
}

// Bounds of Config.Events and Config.Rate. A shorter run has no middle; all of a longer one could not be
// replayed any more.
const (
	MinEvents = 12
	MaxEvents = subjects.GapThreshold
	MaxRate   = 10_000
)

func (c Config) withDefaults() (Config, error) {
	c.Events, c.Rate = cmp.Or(c.Events, 60), cmp.Or(c.Rate, 20)
	c.Patience, c.MaxLag = cmp.Or(c.Patience, 10*time.Second), cmp.Or(c.MaxLag, 2*time.Second)
	c.After = slices.Sorted(slices.Values(c.After))
	switch {
	case c.URL == "":
		return c, fmt.Errorf("%w: no URL", ErrConfig)
	case c.Events < MinEvents || c.Events > MaxEvents:
		return c, fmt.Errorf("%w: %d events, want %d to %d", ErrConfig, c.Events, MinEvents, MaxEvents)
	case c.Rate < 1 || c.Rate > MaxRate:
		return c, fmt.Errorf("%w: %d events a second, want 1 to %d", ErrConfig, c.Rate, MaxRate)
	case c.Patience < 0 || c.MaxLag < 0 || len(c.After) > 0 && c.After[0] < 0:
		return c, fmt.Errorf("%w: a negative time", ErrConfig)
	}
	return c, nil
}

// length is how long the run takes at its pace.
func (c *Config) length() time.Duration {
	return time.Duration(c.Events) * time.Second / time.Duration(c.Rate)
}

// Check is one thing that was looked at. Seen may hold words of the deployment.
type Check struct {
	Name     string
	Expected string
	Seen     string
	OK       bool
	Took     time.Duration
}
