package relay

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/active"
	"github.com/rejoin/rejoin/internal/auth"
	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/internal/killswitch"
	"github.com/rejoin/rejoin/internal/ops"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/turns"
)

// Config says what a relay serves and within which bounds.
type Config struct {
	Hub      *consumer.Hub // required
	Store    *runs.Store   // required
	Producer http.Handler  // serves the producers' routes under /runs; nil means there are none
	Metrics  *Metrics      // nil means metrics of its own
	// NoMetrics says that /metrics does not exist here: whoever needs it finds it elsewhere.
	NoMetrics bool
	Canary    *ops.Canary // knows whether the broker answers; nil means one of its own

	Turns   *turns.Queue     // takes the messages to chats; nil means that the requests for it do not exist here
	History *history.History // the saved turns; nil means that the request for them does not exist here
	Active  *active.Feed     // which runs are live; nil means that the request for them does not exist here

	// Demo serves the demo's page at /demo and what belongs to it below; nil means that there
	// is none here. See package demo.
	Demo http.Handler

	// Auth tells who makes a request; nil means that everybody may do everything.
	Auth auth.Authenticator
	// Resume mints and checks resume tokens; nil means that there are none.
	Resume *auth.Resume

	// Switch knows what may not be watched at the moment; nil means that all may, and
	// that /admin/switch does not exist here.
	Switch *killswitch.Watcher

	// Tracing records a span of each request but those for health, numbers and single
	// events; nil records none. The trace that a request comes in goes on all the same.
	Tracing trace.TracerProvider

	// ForwardHeaders names the headers of a client's request that the agent may see.
	// Those that belong to a connection or to a body are not allowed.
	ForwardHeaders []string

	// Origins are those whose pages may use the relay from a browser: scheme://host[:port]
	// as a browser sends it, or https://*.example.com for every host below one. Cookies may
	// come along for a gateway before the relay. "*", alone, lets every page in, without
	// cookies. None means that only pages of the relay's own origin can.
	Origins []string

	KeepAlive      time.Duration // the longest time an open stream is silent; 0 means 10 s, at most 15 s
	WriteTimeout   time.Duration // how long an observer may take for 64 KiB before it is cut off; 0 means 10 s
	MaxStreamAge   time.Duration // after which a stream is closed, 10 % more or less; 0 means 1 h
	BrokerPatience time.Duration // how long an open stream outlives the broker's silence; 0 means 1 min
	MaxWait        time.Duration // how long a request may wait for a run, whatever it asks for; 0 means MaxWait, the most allowed
	MaxObservers   int           // streams and waiting requests at once; 0 means 10,000, or nine of ten connections where those are fewer
	Limits         Limits        // how much anybody may have

	DrainWindow  time.Duration // over which a drain spreads the closing of streams; 0 means 1.5 s
	DrainTimeout time.Duration // after which a drain breaks off what is still open; 0 means 8 s

	Logger *slog.Logger // may be nil
}

const (
	// maxKeepAlive is what the protocol promises.
	maxKeepAlive = 15 * time.Second

	// maxBody bounds the body of a request; maxLegacyBody that of a stock client,
	// which sends the whole conversation along.
	maxBody       = 64 << 10
	maxLegacyBody = 4 << 20

	// bodyTimeout bounds how long a body may take to arrive.
	bodyTimeout = 30 * time.Second
)

// ErrConfig is wrapped by New's error for a configuration that cannot be served.
var ErrConfig = errors.New("relay configuration")

func (c Config) withDefaults() (Config, error) {
	if c.Hub == nil || c.Store == nil {
		return c, fmt.Errorf("%w: Hub and Store are required", ErrConfig)
	}
	for _, d := range []struct {
		name      string
		value     *time.Duration
		otherwise time.Duration
	}{
		{"KeepAlive", &c.KeepAlive, 10 * time.Second},
		{"WriteTimeout", &c.WriteTimeout, 10 * time.Second},
		{"MaxStreamAge", &c.MaxStreamAge, time.Hour},
		{"BrokerPatience", &c.BrokerPatience, time.Minute},
		{"MaxWait", &c.MaxWait, MaxWait},
		{"DrainWindow", &c.DrainWindow, 1500 * time.Millisecond},
		{"DrainTimeout", &c.DrainTimeout, 8 * time.Second},
	} {
		if *d.value < 0 {
			return c, fmt.Errorf("%w: %s is %v and may not be negative", ErrConfig, d.name, *d.value)
		}
		if *d.value == 0 {
			*d.value = d.otherwise
		}
	}
	var err error
	if c.ForwardHeaders, err = forwardable(c.ForwardHeaders); err != nil {
		return c, err
	}
	if err := CheckOrigins(c.Origins); err != nil {
		return c, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if c.KeepAlive > maxKeepAlive {
		return c, fmt.Errorf("%w: KeepAlive is %v, allowed are up to %v", ErrConfig, c.KeepAlive, maxKeepAlive)
	}
	if c.MaxWait > MaxWait {
		return c, fmt.Errorf("%w: MaxWait is %v, allowed are up to %v", ErrConfig, c.MaxWait, MaxWait)
	}
	if c.Limits, c.MaxObservers, err = c.Limits.withDefaults(c.MaxObservers, openFiles()); err != nil {
		return c, err
	}
	if c.Metrics == nil {
		c.Metrics = NewMetrics(nil)
	}
	if c.Canary == nil {
		c.Canary = ops.NewCanary(ops.CanaryConfig{Ping: c.Store.Ping})
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}
