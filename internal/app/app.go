package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rejoin/rejoin/internal/natsd"
)

// App is the whole program. Its methods may be called at once from anywhere; Run is
// called once.
type App struct {
	cfg    Config
	ready  chan struct{}
	addr   atomic.Value // string
	ops    atomic.Value // string
	broker atomic.Pointer[broker]

	hurry  chan struct{}
	hurryE sync.Once
}

// New makes an App that does nothing until Run. The error wraps ErrConfig.
func New(cfg Config) (*App, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	a := &App{cfg: cfg, ready: make(chan struct{}), hurry: make(chan struct{})}
	a.addr.Store("")
	a.ops.Store("")
	return a, nil
}

// Ready is closed once the App serves. It stays open when Run fails before.
func (a *App) Ready() <-chan struct{} { return a.ready }

// Addr is the host:port it serves on, "" before Ready.
func (a *App) Addr() string { return a.addr.Load().(string) }

// OpsAddr is the host:port of its health and numbers, "" before Ready and where
// Config.OpsAddr is.
func (a *App) OpsAddr() string { return a.ops.Load().(string) }

// URL is where it serves as a client of this machine reaches it, "" before Ready.
func (a *App) URL() string {
	host, port, err := net.SplitHostPort(a.Addr())
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// Broker is the embedded server, nil before Ready and where NATS is elsewhere.
func (a *App) Broker() *natsd.Server {
	if b := a.broker.Load(); b != nil {
		return b.server
	}
	return nil
}

// Hurry cuts the time short that Run takes once its context is done: what is still
// open is broken off. It may be called at any time, more than once.
func (a *App) Hurry() { a.hurryE.Do(func() { close(a.hurry) }) }

// Run serves until ctx is done, then stops in order and returns nil. The error,
// otherwise, is ErrAddrInUse, ErrBrokerAddr, ErrStore, ErrStoreInUse, ErrCreds,
// ErrReplicas, ErrBroker, ErrBrokerLost, or what a part returned.
func (a *App) Run(ctx context.Context) error {
	ln, err := listen(ctx, a.cfg.Addr)
	if err != nil {
		return err
	}
	defer ln.Close()
	m := newMetrics(a.cfg.Version)
	o, err := openOps(ctx, a.cfg, m)
	if err != nil {
		return err
	}
	defer o.Close()
	service := "rejoin-relay"
	if a.cfg.Worker != nil {
		service = "rejoin"
	}
	cfg, end, err := a.cfg.traced(ctx, service, a.hurry)
	if err != nil {
		return err
	}
	defer end()
	b, err := openBroker(ctx, cfg, "rejoin-relay")
	if err != nil {
		if ctx.Err() != nil {
			return nil // told to stop before there was anything to stop
		}
		return err
	}
	defer b.close()
	a.broker.Store(b)
	r, err := newRelay(ctx, cfg, b, m)
	if err != nil {
		return err
	}
	a.addr.Store(ln.Addr().String())
	a.ops.Store(o.Addr())
	o.Ready(r.server.Ready)
	cfg.Logger.Info("serving", "version", ReadVersion(cfg.Version).Version, "addr", a.Addr(), "ops", o.Addr(), "broker", b.name(),
		"auth", cmp.Or(cfg.Auth.Kind, AuthNone), "sweeping", !cfg.NoJanitor, "working", cfg.Worker != nil)
	return a.serve(ctx, r, b, ln)
}

// serve runs the parts until ctx is done or one of them fails.
func (a *App) serve(ctx context.Context, r *relayParts, b *broker, ln net.Listener) error {
	ctx, end := b.guard(ctx, a.Hurry)
	close(a.ready)
	ctx, stop := a.drainLater(ctx, r.server.Unready)
	defer stop()
	err := r.run(ctx, a.hurry, ln)
	if lost := end(); lost != nil {
		return lost
	}
	return err
}

// drainLater makes a context that ends Config.DrainDelay after ctx, or with Hurry; unready
// is called in between. stop ends it too, and waits.
func (a *App) drainLater(ctx context.Context, unready func()) (later context.Context, stop func()) {
	if a.cfg.DrainDelay == 0 {
		return ctx, func() {}
	}
	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() {
		defer cancel()
		select {
		case <-ctx.Done():
		case <-later.Done():
			return
		}
		unready()
		delay := time.NewTimer(a.cfg.DrainDelay)
		defer delay.Stop()
		select {
		case <-delay.C:
		case <-a.hurry:
		case <-later.Done():
		}
	})
	return later, func() {
		cancel()
		wg.Wait()
	}
}

// listen takes the address.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%w: another process serves on %s; choose another address, port 0 takes a free one", ErrAddrInUse, addr)
	case err != nil:
		return nil, fmt.Errorf("%w: cannot serve on %s: %w", ErrConfig, addr, err)
	}
	return ln, nil
}
