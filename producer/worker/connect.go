package worker

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/trace"

	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/producer/save"
)

// Options say how a Worker that Connect makes works. The zero value is ready.
type Options struct {
	Saver       save.Saver    // nil means the built-in history, which relays serve
	Concurrency int           // turns at once; 0 means DefaultConcurrency
	SaveTimeout time.Duration // how long a save may take; 0 means producer.DefaultSaveTimeout
	Grace       time.Duration // how long turns may go on once Run's context is done
	Lease       time.Duration // how long this process may be silent; 0 means subjects.Lease
	Metrics     Metrics
	Tracing     trace.TracerProvider // records spans of the turns; nil records none
	Logger      *slog.Logger         // may be nil
}

// closeProducer bounds how long Run takes to give up what Connect has opened.
const closeProducer = 10 * time.Second

// Connect makes a Worker on a NATS connection to a fabric whose streams exist: a relay
// makes them when it starts. It is the way in for programs outside this module. Run has
// to be called, and lets go of what Connect has opened when it returns.
//
// The connection stays the caller's; see producer.Connect for how it should be made.
// The error wraps producer.ErrNotProvisioned or ErrConfig, or says what kept the broker from
// answering.
func Connect(ctx context.Context, nc *nats.Conn, a agent.Agent, o Options) (*Worker, error) {
	store, err := runs.Open(ctx, nc, runs.Config{LeaveRemoval: true, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	p, err := producer.Open(ctx, store, producer.Config{Lease: o.Lease, Logger: o.Logger})
	if err != nil {
		store.Close()
		return nil, err
	}
	if o.Saver == nil {
		o.Saver = save.NewHistory(history.Open(store))
	}
	w, err := New(Config{Producer: p, Turns: turns.New(store, turns.Config{Logger: o.Logger}), Agent: a, Saver: o.Saver,
		Concurrency: o.Concurrency, SaveTimeout: o.SaveTimeout, Grace: o.Grace, Metrics: o.Metrics, Tracing: o.Tracing, Logger: o.Logger})
	closeAll := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), closeProducer)
		defer cancel()
		defer store.Close()
		if err := p.Close(ctx); err != nil {
			return fmt.Errorf("not every run has its end; janitors see to it: %w", err)
		}
		return nil
	}
	if err != nil {
		_ = closeAll()
		return nil, err
	}
	w.letGo = closeAll
	return w, nil
}
