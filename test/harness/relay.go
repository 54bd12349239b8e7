package harness

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/active"
	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/producer/ingest"
	"github.com/rejoin/rejoin/relay"
)

// Relay is a relay as it is shipped: hub, producers' endpoints and janitor.
type Relay struct {
	testing.TB
	*Link
	URL      string
	Handler  http.Handler // what is served there
	Hub      *consumer.Hub
	Producer *producer.Producer
	Metrics  *relay.Metrics
	stop     func()
}

// RelayConfig changes what a relay is made of.
type RelayConfig struct {
	Hub     consumer.HubConfig
	Relay   relay.Config
	Janitor runs.JanitorConfig
	Ingest  ingest.Config
	Addr    string // where to listen; "" means a free port

	// Steps is told what readers do, besides the relay's own metrics: Tails, Snapshot,
	// Replay and CatchUp. A function may block; its reader then stands still there.
	Steps consumer.HubMetrics
}

// Relay boots a relay with a connection of its own. It is stopped with the test.
func (f *Fabric) Relay(cfg RelayConfig) *Relay {
	f.Helper()
	l := f.Connect()
	m := relay.NewMetrics(nil)
	cfg.Hub.Store, cfg.Hub.Metrics, cfg.Hub.Logger = l.Store, with(m.Hub(), cfg.Steps), f.logger("hub")
	hub := consumer.NewHub(cfg.Hub)
	r := &Relay{TB: f, Link: l, Hub: hub, Producer: f.Producer(l), Metrics: m}
	cfg.Ingest.Producer, cfg.Ingest.Logger = r.Producer, f.logger("ingest")
	cfg.Ingest.Lease = f.cfg.Lease
	in := ingest.New(cfg.Ingest)
	producers := chi.NewRouter()
	in.Routes(producers)
	// A drain that is over at once, or every test would end with one; and an observer that
	// a busy machine does not get round to is not a stalled one.
	cfg.Relay.DrainWindow = cmp.Or(cfg.Relay.DrainWindow, time.Millisecond)
	cfg.Relay.WriteTimeout = cmp.Or(cfg.Relay.WriteTimeout, Patience)
	cfg.Relay.Hub, cfg.Relay.Store, cfg.Relay.Producer, cfg.Relay.Metrics = hub, l.Store, producers, m
	if cfg.Relay.Turns == nil {
		cfg.Relay.Turns = turns.New(l.Store, turns.Config{Logger: f.logger("turns")})
	}
	if cfg.Relay.History == nil {
		cfg.Relay.History = history.Open(l.Store)
	}
	feed := active.New(active.Config{Store: l.Store, Logger: f.logger("active")})
	cfg.Relay.Active = feed
	cfg.Relay.Logger = f.logger("relay")
	srv, err := relay.New(cfg.Relay)
	require.NoError(f, err)
	if cfg.Addr == "" {
		cfg.Addr = "127.0.0.1:0"
	}
	ln, err := net.Listen("tcp", cfg.Addr)
	require.NoError(f, err)
	r.URL, r.Handler = "http://"+ln.Addr().String(), srv.Handler()

	cfg.Janitor.Lease, cfg.Janitor.Metrics, cfg.Janitor.Logger = f.cfg.Lease, app.JanitorMetrics(m.Registry()), f.logger("janitor")
	ctx, cancel := context.WithCancel(context.Background())
	swept := make(chan struct{})
	go func() {
		defer close(swept)
		runs.NewJanitor(l.Store, cfg.Janitor).Run(ctx)
	}()
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ctx, ln) }()
	stopped := false
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		<-swept
		if err := <-served; err != nil && !errors.Is(err, http.ErrServerClosed) {
			f.Errorf("relay: %v", err)
		}
		closing, done := context.WithTimeout(context.Background(), 5*time.Second)
		defer done()
		_ = in.Close(closing)
		feed.Close()
		hub.Close()
	}
	f.Cleanup(r.stop)
	return r
}

// Stop drains the relay as SIGTERM does, and waits.
func (r *Relay) Stop() { r.stop() }

// Client is a client of the relay that keeps coming back.
func (r *Relay) Client() *consumer.Client {
	return &consumer.Client{BaseURL: r.URL}
}
