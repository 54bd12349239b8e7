package app

import (
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// What a broker says that has not the servers for the copies asked for: one that is
// alone, and a cluster that is too small or not complete yet.
const (
	codeAlone   jetstream.ErrorCode = 10074
	codeNoPeers jetstream.ErrorCode = 10005
)

// replicas adds to such an error what to look at.
func replicas(cfg Config, err error) error {
	var api *jetstream.APIError
	if errors.As(err, &api) && (api.ErrorCode == codeAlone || api.ErrorCode == codeNoPeers) {
		return fmt.Errorf("%w: is this a cluster of %d servers? else ask for 1: %w", ErrReplicas, cfg.Replicas, err)
	}
	return err
}

// alone says that the broker is no cluster.
func alone(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == codeAlone
}
