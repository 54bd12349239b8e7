package runs

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/rejoin/rejoin/subjects"
)

// Store is the fabric's state as one process sees it through one connection. It
// keeps nothing that is not in the broker.
type Store struct {
	nc         *nats.Conn
	js         jetstream.JetStream
	api        string // prefix of the JetStream API, with the final dot
	partitions int
	leave      bool // see Config.LeaveRemoval
	log        *slog.Logger
	reconnects *reconnects
	post       *post
	replies    replies
	together   together
	canary     canary
	closeOnce  sync.Once
}

// Config says how Open finds or makes the streams.
type Config struct {
	// Partitions is how many RUNS streams there are; 0 means those that exist,
	// or subjects.Partitions where none does and Provision is set.
	Partitions int
	// Replicas of every stream; 0 leaves existing ones as they are and makes new ones
	// with 1. It counts only for what is provisioned.
	Replicas int
	// Provision creates missing streams and buckets and brings the settings of
	// existing ones up to date. It never removes one.
	Provision bool
	// LeaveRemoval leaves it to janitors elsewhere to remove the data of runs that were
	// not needed: this process then needs no right to purge a stream.
	LeaveRemoval bool
	// Domain is the JetStream domain; "" means the connection's own.
	Domain string
	// Logger may be nil.
	Logger *slog.Logger
}

// MinPayload is the smallest message limit that a broker may have: an entry with all
// its marks and a pointer with all its tokens have to fit into one message.
const MinPayload = 32 << 10

// Open connects the store to its streams. With Provision it makes what is missing and
// changes what is not as it has to be, and needs the right to only then: the error wraps
// ErrForbidden where the user has it not, and ErrRefused where something would be lost.
// Without Provision what is missing is ErrNotProvisioned. The connection stays the
// caller's, and has to outlive the store, which is closed with Close.
func Open(ctx context.Context, nc *nats.Conn, cfg Config) (*Store, error) {
	s, err := newStore(nc, cfg)
	if err != nil {
		return nil, err
	}
	if !cfg.Provision {
		if s.partitions, err = s.verify(ctx, cfg.Partitions); err != nil {
			return nil, err
		}
	} else {
		p, err := s.look(ctx, cfg)
		if err == nil {
			err = s.provision(ctx, p)
		}
		if err != nil {
			return nil, err
		}
		s.partitions = p.partitions
	}
	if err := s.replies.listen(); err != nil {
		return nil, fmt.Errorf("listening for answers: %w", err)
	}
	s.post = newPost(nc)
	s.reconnects = watchReconnects(nc, s.post.lost)
	return s, nil
}

// newStore makes a store that knows nothing of the broker yet.
func newStore(nc *nats.Conn, cfg Config) (*Store, error) {
	s := &Store{nc: nc, replies: replies{nc: nc}, together: together{asking: map[string]*shared{}}, api: "$JS.API.", leave: cfg.LeaveRemoval, log: cfg.Logger}
	s.canary.key = subjects.CanaryKey(nuid.Next())
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if cfg.Partitions < 0 || cfg.Partitions > subjects.MaxPartitions {
		return nil, fmt.Errorf("partitions: %d is not in 1 … %d", cfg.Partitions, subjects.MaxPartitions)
	}
	if limit := nc.MaxPayload(); limit < MinPayload {
		return nil, fmt.Errorf("the broker's max_payload: %d bytes are less than the %d that are needed", limit, MinPayload)
	}
	var err error
	if cfg.Domain != "" {
		s.api = "$JS." + cfg.Domain + ".API."
		s.js, err = jetstream.NewWithDomain(nc, cfg.Domain)
	} else {
		s.js, err = jetstream.New(nc)
	}
	return s, err
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
