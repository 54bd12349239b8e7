package app

import (
	"context"
	"fmt"

	"github.com/rejoin/rejoin/internal/runs"
)

// What to do where the user may not sweep. Who runs a relay or a worker under a user of
// its own forgets the flag easily, and nothing else tells him of it.
const (
	adviceBeside = "run this process with --janitor=false, and a \"rejoin janitor\" elsewhere as a user who may: see deploy/nats"
	adviceAlone  = "give the user what the janitor's user has in deploy/nats"
)

// janitorConfig is that of a janitor in a process that does something else, too.
func janitorConfig(cfg Config, m runs.JanitorMetrics) runs.JanitorConfig {
	return runs.JanitorConfig{Lease: cfg.Lease, Retention: cfg.Retain, MaxEndedPerOwner: cfg.MaxEnded, TurnTTL: cfg.TurnTTL,
		Advice: adviceBeside, Metrics: m, Logger: cfg.Logger.With("part", "janitor")}
}

// RunJanitor runs a janitor alone until ctx is done. It serves nothing but Config.OpsAddr;
// of cfg it uses what concerns the broker, the runs and the logger. The error wraps ErrConfig,
// ErrOpsAddr, ErrCreds, ErrReplicas, ErrBroker or ErrBrokerLost.
func RunJanitor(ctx context.Context, cfg Config) error {
	cfg.NoJanitor = false // it would be nothing else
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
	b, err := openBroker(ctx, cfg, "rejoin-janitor")
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer b.close()
	canary := m.broker(b)
	defer watch(canary)()
	sweeps := janitorConfig(cfg, JanitorMetrics(m.reg))
	sweeps.Advice = adviceAlone
	janitor := runs.NewJanitor(b.store, sweeps)
	ctx, stop := context.WithCancel(ctx)
	swept := make(chan struct{})
	go func() {
		defer close(swept)
		janitor.Run(ctx)
	}()
	o.Ready(canary.Check)
	cfg.Logger.Info("sweeping", "version", ReadVersion(cfg.Version).Version, "broker", b.name(), "lease", cfg.Lease,
		"partitions", b.store.Partitions(), "ops", o.Addr())
	select {
	case <-ctx.Done():
		err = nil
	case lost := <-b.lost:
		err = fmt.Errorf("%w: %w", ErrBrokerLost, orUnknown(lost))
	}
	stop()
	<-swept
	cfg.Logger.Info("stopped")
	return err
}
