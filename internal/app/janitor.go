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

// newJanitor is a janitor that counts nothing.
func newJanitor(cfg Config, b *broker) *runs.Janitor {
	return runs.NewJanitor(b.store, janitorConfig(cfg, runs.JanitorMetrics{}))
}

// RunJanitor runs a janitor alone until ctx is done. It serves nothing; of cfg it
// uses what concerns the broker, the runs and the logger. The error wraps ErrConfig,
// ErrCreds, ErrReplicas, ErrBroker or ErrBrokerLost.
func RunJanitor(ctx context.Context, cfg Config) error {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return err
	}
	b, err := openBroker(ctx, cfg, "rejoin-janitor")
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer b.close()
	ctx, stop := context.WithCancel(ctx)
	swept := make(chan struct{})
	go func() {
		defer close(swept)
		newJanitor(cfg, b).Run(ctx)
	}()
	cfg.Logger.Info("sweeping", "lease", cfg.Lease, "partitions", b.store.Partitions())
	select {
	case <-ctx.Done():
		err = nil
	case lost := <-b.lost:
		err = fmt.Errorf("%w: %w", ErrBrokerLost, orUnknown(lost))
	}
	stop()
	<-swept
	return err
}
