package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/producer/save"
	"github.com/rejoin/rejoin/producer/worker"
)

// WorkerConfig says how turns are answered and saved. Zero values mean the defaults.
type WorkerConfig struct {
	Agent       AgentConfig
	Concurrency int
	SaveTimeout time.Duration
	// SaveURL is where turns are sent to be saved, signed with SaveSecret unless that is
	// "". Without it they are saved in the built-in history, unless NoSave is set.
	SaveURL    string
	SaveSecret string
	NoSave     bool
}

// workerParts is a worker with its agent.
type workerParts struct {
	cfg    Config
	agent  *agentParts
	worker *worker.Worker
}

// newWorker makes a worker that takes no turns until run. grace is what turns have to
// end by themselves once it is told to stop.
func newWorker(cfg Config, b *broker, p *producer.Producer, m worker.Metrics, grace time.Duration) (*workerParts, error) {
	var saver save.Saver
	var saved *history.History
	switch w := cfg.Worker; {
	case w.SaveURL != "":
		hook, err := save.NewWebhook(save.WebhookConfig{URL: w.SaveURL, Secret: w.SaveSecret, Logger: cfg.Logger.With("part", "save")})
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrConfig, err)
		}
		saver = hook
	case !w.NoSave:
		saved = history.Open(b.store)
		saver = save.NewHistory(saved)
	}
	made, err := newAgent(cfg, cfg.Worker.Agent, b.store, saved)
	if err != nil {
		return nil, err
	}
	log := cfg.Logger.With("part", "worker")
	w, err := worker.New(worker.Config{Producer: p, Turns: turns.New(b.store, turns.Config{NoProvision: cfg.NoProvision, Logger: log}), Agent: made.Agent,
		Saver: saver, Concurrency: cfg.Worker.Concurrency, SaveTimeout: cfg.Worker.SaveTimeout, Grace: grace,
		Metrics: m, Tracing: cfg.tracing, Logger: log})
	if err != nil {
		return nil, err
	}
	return &workerParts{cfg: cfg, agent: made, worker: w}, nil
}

// agentGrace bounds how long an agent's processes may take to end.
const agentGrace = 5 * time.Second

// run takes turns until ctx is done and what runs has ended.
func (p *workerParts) run(ctx context.Context, hurry <-chan struct{}) error {
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-hurry:
			p.worker.Hurry()
		case <-over:
		}
	})
	err := p.worker.Run(ctx)
	close(over)
	wg.Wait()
	closing, cancel := context.WithTimeout(context.Background(), agentGrace)
	defer cancel()
	if err := p.agent.close(closing); err != nil {
		p.cfg.Logger.Warn("not every process of the agent has ended", "error", err)
	}
	return err
}

// gone logs why a worker beside a relay has ended, unless it was told to and all is over.
func (p *workerParts) gone(err error, hurry <-chan struct{}) {
	if err == nil {
		return
	}
	select {
	case <-hurry:
		if errors.Is(err, worker.ErrAgentRunning) {
			p.cfg.Logger.Warn("stopped in a hurry, without waiting for every agent to return")
			return
		}
	default:
	}
	p.cfg.Logger.Error("turns are not answered any more by this process", "error", err)
}

// RunWorker takes turns and answers them until ctx is done, then stops in order and
// returns nil. hurry cuts that short once it is closed; nil never does. The error,
// otherwise, is as of RunJanitor, or what kept it from opening the work queue.
func RunWorker(ctx context.Context, cfg Config, hurry <-chan struct{}) error {
	if cfg.Worker == nil {
		return fmt.Errorf("%w: there is no Worker", ErrConfig)
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return err
	}
	m := newMetrics(cfg.Version)
	o, err := openOps(ctx, cfg, m)
	if err != nil {
		return err
	}
	defer o.Close()
	cfg, endTraces, err := cfg.traced(ctx, "rejoin-worker", hurry)
	if err != nil {
		return err
	}
	defer endTraces()
	b, err := openBroker(ctx, cfg, "rejoin-worker")
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer b.close()
	canary := m.broker(b)
	defer watch(canary)()
	log := cfg.Logger
	p, err := producer.Open(ctx, b.store, producer.Config{
		Lease: cfg.Lease, MaxEventBytes: cfg.MaxEvent, Metrics: m.producer(), Logger: log.With("part", "producer")})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBroker, err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.Background(), agentGrace)
		defer cancel()
		if err := p.Close(closing); err != nil {
			log.Warn("not every run has its end; janitors see to it", "error", err)
		}
	}()
	w, err := newWorker(cfg, b, p, m.worker(), cfg.Grace)
	if err != nil {
		return err
	}
	o.Ready(func() error {
		if err := w.worker.Ready(); err != nil {
			return err
		}
		return canary.Check()
	})
	ctx, end := b.guard(ctx, w.worker.Hurry)
	background, stopBackground := context.WithCancel(ctx)
	var sweeping sync.WaitGroup
	if !cfg.NoJanitor {
		janitor := runs.NewJanitor(b.store, janitorConfig(cfg, JanitorMetrics(m.reg)))
		sweeping.Go(func() { janitor.Run(background) })
	}
	log.Info("working", "version", ReadVersion(cfg.Version).Version, "broker", b.name(), "sweeping", !cfg.NoJanitor, "ops", o.Addr())
	err = w.run(ctx, hurry)
	stopBackground()
	sweeping.Wait()
	log.Info("stopped")
	if lost := end(); lost != nil {
		return lost
	}
	return err
}
