package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
)

// broker is the fabric as this process reaches it.
type broker struct {
	server *natsd.Server // nil where NATS is elsewhere
	unlock func()        // lets go of the server's store; nil where it is temporary
	nc     *nats.Conn
	store  *runs.Store
	lost   chan error // gets why the connection was closed for good
}

// The connection's own limits. A dead connection is noticed within two pings; what
// is published while there is none fails at once, since whoever publishes knows how
// to settle it, and a buffered record would go out long after it was given up.
const (
	pingInterval  = 5 * time.Second
	maxPings      = 2
	reconnectWait = 500 * time.Millisecond
	dialTimeout   = 5 * time.Second
	reportEvery   = 5 * time.Minute // how often the same error that the broker reports is logged
)

func openBroker(ctx context.Context, cfg Config, name string) (*broker, error) {
	b := &broker{}
	err := b.embed(ctx, cfg, name)
	if err == nil {
		err = b.connect(ctx, cfg, name)
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// embed starts a server in this process, where none is named.
func (b *broker) embed(ctx context.Context, cfg Config, name string) (err error) {
	if cfg.NATS != "" {
		return nil
	}
	if cfg.Store != "" {
		if b.unlock, err = lockStore(cfg.Store); err != nil {
			return err
		}
	}
	if cfg.NATSAddr != "" {
		if err := free(ctx, cfg.NATSAddr); err != nil {
			return err
		}
	}
	b.server, err = natsd.Start(natsd.Config{
		Listen: cfg.NATSAddr, StoreDir: cfg.Store, Name: name, Logger: quieter(cfg.Logger)})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBroker, err)
	}
	return nil
}

// free checks an address before the server takes it, which says only in a log line
// why it could not.
func free(ctx context.Context, addr string) error {
	ln, err := listen(ctx, addr)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBrokerAddr, err)
	}
	return ln.Close()
}

// dial connects once, and opens the store.
func (b *broker) dial(ctx context.Context, cfg Config, name string) error {
	err := b.reach(cfg, name)
	if err != nil {
		return err
	}
	b.store, err = runs.Open(ctx, b.nc, runs.Config{
		Partitions: cfg.Partitions, Replicas: cfg.Replicas, Provision: !cfg.NoProvision,
		LeaveRemoval: cfg.NoJanitor, Domain: cfg.Conn.Domain, Logger: cfg.Logger})
	if err != nil {
		b.unreach()
		return replicas(cfg, err)
	}
	if kept := b.store.Partitions(); cfg.Partitions > 0 && cfg.Partitions < kept {
		cfg.Logger.Warn("the fabric has more partitions than asked for; all are kept", "asked", cfg.Partitions, "kept", kept)
	}
	return nil
}

// reach connects once.
func (b *broker) reach(cfg Config, name string) error {
	b.lost = make(chan error, 1) // of this connection: an earlier one may have said why it ended
	opts, err := options(cfg, name, b.lost)
	if err != nil {
		return err
	}
	if b.server != nil {
		b.nc, err = b.server.Connect(opts...)
	} else {
		b.nc, err = nats.Connect(cfg.NATS, opts...)
	}
	return err
}

// unreach takes back what reach did.
func (b *broker) unreach() {
	b.nc.SetClosedHandler(nil)
	b.nc.Close()
	b.nc = nil
}

func options(cfg Config, name string, lost chan<- error) ([]nats.Option, error) {
	log := cfg.Logger
	var reported runs.Trouble // what a user may not do is refused as often as it is tried
	conn, err := cfg.Conn.options()
	if err != nil {
		return nil, err
	}
	return append(conn,
		nats.Name(name),
		nats.Timeout(dialTimeout),
		nats.MaxReconnects(-1),
		nats.ReconnectBufSize(-1),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait, reconnectWait),
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(maxPings),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("lost the broker; reconnecting", "error", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			log.Info("reached the broker again", "server", withoutSecrets(nc.ConnectedUrl()))
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if reported.Due(err.Error(), reportEvery) {
				log.Warn("the broker reports an error", "error", err)
			}
		}),
		nats.ClosedHandler(func(nc *nats.Conn) {
			lost <- nc.LastError()
		})), nil
}

// guard makes a context that also ends when the broker is lost for good, and then calls
// hurry: nothing can be stored any more. end stops the watching, and returns an error
// that wraps ErrBrokerLost if that is what happened.
func (b *broker) guard(ctx context.Context, hurry func()) (guarded context.Context, end func() error) {
	ctx, stop := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case err := <-b.lost:
			stop(fmt.Errorf("%w: %w", ErrBrokerLost, orUnknown(err)))
			hurry()
		case <-ctx.Done():
		}
	}()
	return ctx, func() error {
		stop(nil)
		<-watched
		if cause := context.Cause(ctx); errors.Is(cause, ErrBrokerLost) {
			return cause
		}
		return nil
	}
}

// name is where the broker is, as it may be logged.
func (b *broker) name() string {
	if b.server != nil {
		return "embedded"
	}
	return withoutSecrets(b.nc.ConnectedUrl())
}

// close lets go of the broker. An embedded one stops, and its files are closed.
func (b *broker) close() {
	if b.store != nil {
		b.store.Close()
	}
	if b.nc != nil {
		b.unreach()
	}
	if b.server != nil {
		b.server.Shutdown()
	}
	if b.unlock != nil {
		b.unlock()
	}
}

func orUnknown(err error) error {
	if err == nil {
		return errors.New("for no reason that it gave")
	}
	return err
}

// withoutSecrets is a URL as it may be logged.
func withoutSecrets(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "a malformed URL"
	}
	u.User = nil
	return u.String()
}

// hopeless says that waiting does not help.
func hopeless(err error) bool {
	for _, final := range []error{nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked, nats.ErrAccountAuthExpired,
		ErrCreds, ErrNKey, runs.ErrForbidden, runs.ErrRefused, runs.ErrNotProvisioned} {
		if errors.Is(err, final) {
			return true
		}
	}
	return alone(err)
}

func logWait(log *slog.Logger, servers string, left time.Duration, err error) {
	log.Warn("the broker is not ready; trying again", "servers", servers, "for", left.Round(time.Second), "error", err)
}
