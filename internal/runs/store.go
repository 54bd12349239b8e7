package runs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rejoin/rejoin/subjects"
)

// Store is the fabric's state as one process sees it through one connection. It
// keeps nothing that is not in the broker.
type Store struct {
	nc         *nats.Conn
	js         jetstream.JetStream
	api        string // prefix of the JetStream API, with the final dot
	partitions int
	log        *slog.Logger
	reconnects *reconnects
	closeOnce  sync.Once
}

// Config says how Open finds or makes the streams.
type Config struct {
	// Partitions is how many RUNS streams there are; 0 means those that exist,
	// or subjects.Partitions where none does and Provision is set.
	Partitions int
	// Replicas of every stream that is provisioned; 0 means 1.
	Replicas int
	// Provision creates missing streams and buckets and brings the settings of
	// existing ones up to date. It never removes one.
	Provision bool
	// Domain is the JetStream domain; "" means the connection's own.
	Domain string
	// Logger may be nil.
	Logger *slog.Logger
}

// minPayload is the smallest message limit that a broker may have: an entry with all
// its marks and a pointer with all its tokens have to fit into one message.
const minPayload = 32 << 10

// Open connects the store to its streams. Without Provision a missing stream is
// ErrNotProvisioned. The connection stays the caller's, and has to outlive the
// store, which is closed with Close.
func Open(ctx context.Context, nc *nats.Conn, cfg Config) (*Store, error) {
	s := &Store{nc: nc, api: "$JS.API.", log: cfg.Logger}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if cfg.Partitions < 0 || cfg.Partitions > subjects.MaxPartitions {
		return nil, fmt.Errorf("partitions: %d is not in 1 … %d", cfg.Partitions, subjects.MaxPartitions)
	}
	if limit := nc.MaxPayload(); limit < minPayload {
		return nil, fmt.Errorf("the broker's max_payload: %d bytes are less than the %d that are needed", limit, minPayload)
	}
	var err error
	if cfg.Domain != "" {
		s.api = "$JS." + cfg.Domain + ".API."
		s.js, err = jetstream.NewWithDomain(nc, cfg.Domain)
	} else {
		s.js, err = jetstream.New(nc)
	}
	if err != nil {
		return nil, err
	}
	existing, err := s.countPartitions(ctx)
	if err != nil {
		return nil, err
	}
	s.partitions = max(cfg.Partitions, existing)
	if !cfg.Provision {
		if existing == 0 || existing < cfg.Partitions {
			return nil, fmt.Errorf("%w: %d of %d partitions found", ErrNotProvisioned, existing, max(cfg.Partitions, 1))
		}
	} else {
		if s.partitions == 0 {
			s.partitions = subjects.Partitions
		}
		if err := s.provision(ctx, max(cfg.Replicas, 1)); err != nil {
			return nil, err
		}
	}
	s.reconnects = watchReconnects(nc)
	return s, nil
}

// countPartitions counts the RUNS streams from 0 up to the first that is missing.
func (s *Store) countPartitions(ctx context.Context) (int, error) {
	for p := range subjects.MaxPartitions {
		_, err := s.js.Stream(ctx, subjects.RunsStream(p))
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return p, nil
		}
		if err != nil {
			return 0, fmt.Errorf("looking for stream %s: %w", subjects.RunsStream(p), err)
		}
	}
	return subjects.MaxPartitions, nil
}

func (s *Store) provision(ctx context.Context, replicas int) error {
	configs := []jetstream.StreamConfig{subjects.BucketConfig(replicas), subjects.LeaseConfig(replicas),
		subjects.TurnsConfig(replicas), subjects.ControlConfig(replicas), subjects.HistoryConfig(replicas)}
	for p := range s.partitions {
		configs = append(configs, subjects.RunsConfig(p, replicas))
	}
	for _, c := range configs {
		if _, err := s.js.CreateOrUpdateStream(ctx, c); err != nil {
			return fmt.Errorf("provisioning stream %s: %w", c.Name, err)
		}
	}
	return nil
}

// Conn is the connection the store was opened with.
func (s *Store) Conn() *nats.Conn { return s.nc }

// JetStream is the connection's JetStream, in the domain the store was opened for.
func (s *Store) JetStream() jetstream.JetStream { return s.js }

// API is the prefix of the JetStream API's subjects, with the final dot.
func (s *Store) API() string { return s.api }

// Partitions is how many RUNS streams the store spreads new runs over.
func (s *Store) Partitions() int { return s.partitions }

// NewRunID mints an id in a partition chosen at random.
func (s *Store) NewRunID() subjects.RunID { return subjects.NewRunID(rand.IntN(s.partitions)) }

// Ping asks the leader of the main bucket for a key that does not exist: the
// cheapest question whose answer proves that the broker can serve.
func (s *Store) Ping(ctx context.Context) error {
	_, err := s.lastOf(ctx, subjects.BucketStream, subjects.KeySubject("ping"))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
