package app

import (
	"cmp"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/producer/demo"
	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/subjects"
)

// Config says what an App is made of. Zero values mean the defaults, those of a
// relay on an embedded broker with a temporary store.
type Config struct {
	// Addr is the host:port to serve HTTP on; port 0 takes a free one. "" means
	// DefaultAddr.
	Addr string

	// NATS is where the broker is: URLs, separated by commas. "" means as Conn's
	// context says, or an embedded one.
	NATS string
	// Conn says how to connect to it.
	Conn ConnConfig
	// Connect is how long to wait for a broker that is not there yet; 0 means 30 s.
	Connect time.Duration
	// Store is the directory of the embedded broker; "" means a temporary one,
	// removed at the end.
	Store string
	// NATSAddr is the host:port on which the embedded broker takes connections; ""
	// means it takes none from outside.
	NATSAddr string

	// Partitions is how many streams hold runs; 0 means as many as there are, or
	// subjects.Partitions on a new fabric.
	Partitions int
	// Replicas of every stream; 0 leaves existing ones as they are and makes new ones
	// with 1.
	Replicas int
	// NoProvision leaves streams as they are: a missing one is an error.
	NoProvision bool
	// NoJanitor leaves sweeping, and all removing, to janitors elsewhere.
	NoJanitor bool

	Lease        time.Duration // how long a producer may be silent; 0 means subjects.Lease, at least 1 s
	Retain       time.Duration // how long ended runs are kept; 0 means subjects.Retention
	TurnTTL      time.Duration // how long a turn may wait for a worker; 0 means subjects.TurnTTL
	MaxEnded     int           // how many of one owner; see runs.JanitorConfig.MaxEndedPerOwner
	GapThreshold int           // events replayed before a snapshot is cheaper; 0 means subjects.GapThreshold
	MaxEvent     int           // bytes of one event; 0 means subjects.MaxEventBytes
	MaxObservers int           // streams at once; 0 means the relay's own default
	Limits       LimitsConfig  // how much anybody may have
	MaxWait      time.Duration // for a run to appear; 0 means the relay's own default

	// Auth says who may use the relay.
	Auth AuthConfig

	// Origins are those whose pages may use the relay; see relay.Config.Origins.
	Origins []string

	// Streams bounds one open stream.
	Streams StreamConfig

	// OpsAddr is the host:port on which health and numbers are served, to whoever asks;
	// /metrics is then not served anywhere else. "" means that a relay serves them with
	// everything else, and others nowhere.
	OpsAddr string

	// DrainDelay is how long a relay goes on as before when it is told to stop, except that
	// it says that it is not ready: load balancers take a moment to see it. 0 means no time.
	// Grace begins after it.
	DrainDelay time.Duration
	// Grace is how long Run may take from the end of its context; 0 means 10 s.
	Grace time.Duration

	// Worker makes the App answer turns too; nil means that workers do elsewhere.
	Worker *WorkerConfig
	// ForwardHeaders names the headers of a client's request that its agent gets.
	ForwardHeaders []string

	// Demo produces runs to watch in the chat demo.DefaultChat.
	Demo bool
	// DemoConfig changes them.
	DemoConfig demo.Config

	// Page serves the demo's page at /demo. Where an embedded broker and the demo's agent are
	// in this process, that and what DemoConfig produces can be killed from there.
	Page bool

	// Trace says where spans go.
	Trace TraceConfig
	// tracing records them; nil records none.
	tracing trace.TracerProvider

	// Version is what the linker was told, for the metrics; "" means what the build
	// information says.
	Version string

	Logger *slog.Logger // nil means silent
}

// StreamConfig bounds one open stream. Zero values mean the relay's defaults; see
// relay.Config.
type StreamConfig struct {
	MaxAge         time.Duration // after which it is closed, 10 % more or less
	KeepAlive      time.Duration // the longest time that it is silent
	WriteTimeout   time.Duration // how long its observer may take for 64 KiB
	BrokerPatience time.Duration // how long it outlives the broker's silence
}

// Defaults of Config.
const (
	DefaultAddr    = "127.0.0.1:8080"
	DefaultGrace   = 10 * time.Second
	DefaultConnect = 30 * time.Second
)

func (c Config) withDefaults() (Config, error) {
	c.Addr = cmp.Or(c.Addr, DefaultAddr)
	c.Connect = cmp.Or(c.Connect, DefaultConnect)
	c.Grace = cmp.Or(c.Grace, DefaultGrace)
	c.Lease = cmp.Or(c.Lease, subjects.Lease)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c, err := c.withContext()
	if err != nil {
		return c, err
	}
	switch {
	case c.NATS != "" && (c.Store != "" || c.NATSAddr != ""):
		return c, fmt.Errorf("%w: NATS and the Store or NATSAddr of an embedded broker exclude each other", ErrConfig)
	case c.NATS == "" && c.Conn != (ConnConfig{}):
		return c, fmt.Errorf("%w: Conn is for a broker that NATS or Conn.Context names", ErrConfig)
	case c.Lease < runs.MinLease:
		return c, fmt.Errorf("%w: Lease is %v, allowed are %v and more", ErrConfig, c.Lease, runs.MinLease)
	case c.Retain < 0 || c.Grace < 0 || c.Connect < 0:
		return c, fmt.Errorf("%w: Retain, Grace and Connect may not be negative", ErrConfig)
	case c.Limits.check() != nil:
		return c, c.Limits.check()
	case c.DrainDelay < 0 || min(c.Streams.MaxAge, c.Streams.KeepAlive, c.Streams.WriteTimeout, c.Streams.BrokerPatience) < 0:
		return c, fmt.Errorf("%w: DrainDelay and the times of Streams may not be negative", ErrConfig)
	case c.GapThreshold < 0 || c.GapThreshold > subjects.GapThreshold:
		return c, fmt.Errorf("%w: GapThreshold is %d, allowed are 1 to %d", ErrConfig, c.GapThreshold, subjects.GapThreshold)
	case c.MaxEnded < 0 || c.MaxEvent < 0 || c.MaxObservers < 0 || c.Partitions < 0 || c.Replicas < 0:
		return c, fmt.Errorf("%w: no number may be negative", ErrConfig)
	}
	if err := relay.CheckOrigins(c.Origins); err != nil {
		return c, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if c.MaxWait < 0 || c.MaxWait > relay.MaxWait {
		return c, fmt.Errorf("%w: MaxWait is %v, allowed are up to %v", ErrConfig, c.MaxWait, relay.MaxWait)
	}
	if err := c.Auth.Check(c.Addr); err != nil {
		return c, err
	}
	if err := c.Auth.CheckBroker(c.NATSAddr); err != nil {
		return c, err
	}
	return c, c.Conn.check()
}

// servers are the broker's URLs, without what is secret in them.
func (c Config) servers() string {
	urls := strings.Split(c.NATS, ",")
	for i, u := range urls {
		urls[i] = withoutSecrets(strings.TrimSpace(u))
	}
	return strings.Join(urls, ", ")
}
