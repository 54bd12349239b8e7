package app

import (
	"context"
	"fmt"

	"github.com/rejoin/rejoin/internal/runs"
)

func janitorConfig(cfg Config, m runs.JanitorMetrics) runs.JanitorConfig {
	return runs.JanitorConfig{Lease: cfg.Lease, Retention: cfg.Retain, MaxEndedPerOwner: cfg.MaxEnded, TurnTTL: cfg.TurnTTL,
		Metrics: m, Logger: cfg.Logger.With("part", "janitor")}
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
	janitor := runs.NewJanitor(b.store, janitorConfig(cfg, JanitorMetrics(m.reg)))
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
