package app

import (
	"context"
	"fmt"

	"github.com/rejoin/rejoin/internal/runs"
)

// Init makes the streams, buckets and consumers of a fabric that are missing and brings
// the settings of the others up to date, and says of each what it did. dry only looks.
// Of cfg it uses what concerns the broker, Partitions, Replicas and the logger. The error
// wraps ErrConfig, one of the errors of a connection, ErrReplicas, ErrBroker, or
// ErrRefused where something would be lost; then nothing was changed.
func Init(ctx context.Context, cfg Config, dry bool) ([]runs.Asset, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if cfg.NATS == "" {
		return nil, fmt.Errorf("%w: NATS or Conn.Context has to say where the broker is", ErrConfig)
	}
	var made []runs.Asset
	b := &broker{}
	defer b.close()
	err = b.waitFor(ctx, cfg, func(ctx context.Context) error {
		err := b.reach(cfg, "rejoin-init")
		if err != nil {
			return err
		}
		made, err = runs.Provision(ctx, b.nc, runs.Config{
			Partitions: cfg.Partitions, Replicas: cfg.Replicas, Domain: cfg.Conn.Domain, Logger: cfg.Logger}, dry)
		if err != nil {
			b.unreach()
		}
		return replicas(cfg, err)
	})
	return made, err
}
