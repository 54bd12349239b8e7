package producer

import (
	"context"

	"github.com/nats-io/nats.go"

	"github.com/rejoin/rejoin/internal/runs"
)

// Connect opens a Producer on a NATS connection to a fabric whose streams exist: a
// relay makes them when it starts. It is the way in for programs outside this
// module. Without streams the error wraps ErrNotProvisioned. It needs no right to make,
// change or purge a stream: what of a run that was not started is left, janitors remove.
//
// The connection stays the caller's and has to outlive the Producer. It should never
// give up (nats.MaxReconnects(-1)) and keep nothing back while it is down
// (nats.ReconnectBufSize(-1)): what was sent and not acknowledged is settled anyway.
func Connect(ctx context.Context, nc *nats.Conn, cfg Config) (*Producer, error) {
	store, err := runs.Open(ctx, nc, runs.Config{LeaveRemoval: true, Logger: cfg.Logger})
	if err != nil {
		return nil, err
	}
	p, err := Open(ctx, store, cfg)
	if err != nil {
		store.Close()
		return nil, err
	}
	p.own = store
	return p, nil
}
