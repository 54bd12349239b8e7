package app

import (
	"context"
	"fmt"
	"sync"

	"github.com/rejoin/rejoin/internal/ops"
)

// openOps serves the process's health and numbers on Config.OpsAddr, from before there is
// a broker. Where that is "", it is nil. The error wraps ErrOpsAddr.
func openOps(ctx context.Context, cfg Config, m *metrics) (*ops.Server, error) {
	if cfg.OpsAddr == "" {
		return nil, nil
	}
	ln, err := listen(ctx, cfg.OpsAddr)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOpsAddr, err)
	}
	s := ops.Start(ln, m.reg, cfg.Logger.With("part", "ops"))
	cfg.Logger.Info("health and numbers are served", "addr", s.Addr())
	return s, nil
}

// watch asks the broker now and then whether it answers, for the numbers' sake, until
// stop is called, which waits.
func watch(c *ops.Canary) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { c.Run(ctx) })
	return func() {
		cancel()
		wg.Wait()
	}
}
