package app

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/active"
	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/internal/killswitch"
	"github.com/rejoin/rejoin/internal/ops"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/producer/demo"
	"github.com/rejoin/rejoin/producer/ingest"
	"github.com/rejoin/rejoin/relay"
)

// relayParts is what a relay process is made of, all on one connection.
type relayParts struct {
	cfg      Config
	hub      *consumer.Hub
	feed     *active.Feed
	producer *producer.Producer
	ingest   *ingest.Handler
	server   *relay.Server
	janitor  *runs.Janitor // nil where others sweep
	canary   *ops.Canary
	ids      *identities
	switches *killswitch.Watcher
	worker   *workerParts // nil where turns are answered elsewhere, or by mortal
	mortal   *mortal      // nil unless the demo's page can kill what answers
}

func newRelay(ctx context.Context, cfg Config, b *broker, m *metrics) (*relayParts, error) {
	counted, produced := relay.NewMetrics(m.reg), m.producer()
	log := cfg.Logger
	p := &relayParts{cfg: cfg, canary: m.broker(b)}
	var err error
	if p.ids, err = cfg.Auth.open(log.With("part", "auth")); err != nil {
		return nil, err
	}
	p.producer, err = producer.Open(ctx, b.store, producer.Config{
		Lease: cfg.Lease, MaxEventBytes: cfg.MaxEvent, Metrics: produced, Logger: log.With("part", "producer")})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBroker, err)
	}
	p.ingest = ingest.New(ingest.Config{Producer: p.producer, Lease: cfg.Lease, MaxEventBytes: cfg.MaxEvent,
		Metrics: m.ingest(), Logger: log.With("part", "ingest")})
	p.hub = consumer.NewHub(cfg.Limits.hub(consumer.HubConfig{Store: b.store, GapThreshold: uint64(cfg.GapThreshold),
		Metrics: counted.Hub(), Logger: log.With("part", "hub")}))
	p.feed = active.New(active.Config{Store: b.store, Logger: log.With("part", "active")})
	if !cfg.NoJanitor {
		p.janitor = runs.NewJanitor(b.store, janitorConfig(cfg, JanitorMetrics(m.reg)))
	}
	p.switches, err = killswitch.Open(ctx, killswitch.Config{Store: b.store, Logger: log.With("part", "switch")})
	if err != nil {
		p.close(make(chan struct{}))
		return nil, fmt.Errorf("%w: %w", ErrBroker, err)
	}
	// Turns end while streams are still open, so that their observers see it.
	switch grace := cfg.Grace / 5; {
	case cfg.killable():
		p.mortal, err = newMortal(ctx, cfg, b, produced, m.worker(), grace)
	case cfg.Worker != nil:
		p.worker, err = newWorker(cfg, b, p.producer, m.worker(), grace)
	}
	if err != nil {
		p.close(make(chan struct{}))
		return nil, err
	}
	routes := chi.NewRouter()
	p.ingest.Routes(routes)
	p.server, err = relay.New(relay.Config{Hub: p.hub, Store: b.store, Producer: routes,
		Metrics: counted, NoMetrics: cfg.OpsAddr != "", Canary: p.canary,
		Turns: turns.New(b.store, cfg.Limits.turns(turns.Config{Logger: log.With("part", "turns")})), History: history.Open(b.store), Active: p.feed,
		Demo: p.page(),
		Auth: p.ids.callers, Resume: p.ids.resume, Switch: p.switches, Tracing: cfg.tracing,
		ForwardHeaders: cfg.ForwardHeaders,
		KeepAlive:      cfg.Streams.KeepAlive,
		WriteTimeout:   cfg.Streams.WriteTimeout,
		MaxStreamAge:   cfg.Streams.MaxAge,
		BrokerPatience: cfg.Streams.BrokerPatience,
		MaxObservers:   cfg.MaxObservers,
		Limits:         cfg.Limits.relay(cfg.NATS == ""),
		MaxWait:        cfg.MaxWait,
		Origins:        cfg.Origins,
		DrainWindow:    min(cfg.Grace/5, 1500*time.Millisecond),
		DrainTimeout:   cfg.Grace * 7 / 10, // the rest is for the broker
		Logger:         log.With("part", "relay")})
	if err != nil {
		p.close(make(chan struct{}))
		return nil, err
	}
	return p, nil
}

// run serves until ctx is done, then stops the parts in order.
func (p *relayParts) run(ctx context.Context, hurry <-chan struct{}, ln net.Listener) error {
	background, stopBackground := context.WithCancel(ctx)
	defer stopBackground()
	var parts sync.WaitGroup
	if p.janitor != nil {
		parts.Go(func() { p.janitor.Run(background) })
	}
	parts.Go(func() { p.ids.run(background) })
	parts.Go(func() { p.switches.Run(background) })
	defer watch(p.canary)()
	if p.cfg.Demo && p.mortal == nil {
		parts.Go(func() { demo.Loop(background, p.producer, p.cfg.loop(p.cfg.Logger)) })
	}
	if p.mortal != nil {
		parts.Go(func() { p.mortal.run(background, hurry) })
	}
	if p.worker != nil {
		parts.Go(func() {
			p.worker.gone(p.worker.run(background, hurry), hurry)
		})
	}
	over := make(chan struct{})
	parts.Go(func() {
		select {
		case <-hurry:
			p.server.Drain()
			p.server.Drain()
		case <-over:
		}
	})
	// Requests that wait for their body end only because this tells them to.
	parts.Go(func() {
		select {
		case <-background.Done():
		case <-over:
		}
		p.release(hurry)
	})
	err := p.server.Serve(ctx, ln)
	close(over)
	stopBackground()
	parts.Wait()
	p.close(hurry)
	return err
}

// release lets other processes go on with the runs that are fed over HTTP.
func (p *relayParts) release(hurry <-chan struct{}) {
	ctx, cancel := p.patience(hurry)
	defer cancel()
	if err := p.ingest.Close(ctx); err != nil {
		p.cfg.Logger.Warn("not every run was handed over; each goes on elsewhere once its lease has ended", "error", err)
	}
}

// close stops what no request uses any more.
func (p *relayParts) close(hurry <-chan struct{}) {
	ctx, cancel := p.patience(hurry)
	defer cancel()
	if err := p.ingest.Close(ctx); err != nil {
		p.cfg.Logger.Warn("not every run was handed over", "error", err)
	}
	if err := p.producer.Close(ctx); err != nil {
		p.cfg.Logger.Warn("not every run has its end; janitors see to it", "error", err)
	}
	if p.mortal != nil {
		p.mortal.close()
	}
	p.feed.Close()
	p.hub.Close()
	if p.switches != nil {
		p.switches.Close()
	}
}

// patience is how long the broker may take at one step of stopping.
func (p *relayParts) patience(hurry <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), p.cfg.Grace*3/20)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-hurry:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel()
		<-stopped
	}
}
