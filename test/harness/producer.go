package harness

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
)

// ProducerRole is the role of a test binary that writes one run and falls silent; see
// Roles.
const ProducerRole = "producer"

const (
	natsEnv   = "REJOIN_TEST_NATS"
	chatEnv   = "REJOIN_TEST_CHAT"
	eventsEnv = "REJOIN_TEST_EVENTS"
	leaseEnv  = "REJOIN_TEST_LEASE"
)

// PlayProducer is what a process in ProducerRole does: it starts a run, publishes numbered
// text, says which run it is, and then keeps it open for as long as it lives.
func PlayProducer() {
	if err := produce(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func produce(ctx context.Context) error {
	nc, err := nats.Connect(os.Getenv(natsEnv))
	if err != nil {
		return err
	}
	store, err := runs.Open(ctx, nc, runs.Config{})
	if err != nil {
		return err
	}
	lease, err := time.ParseDuration(os.Getenv(leaseEnv))
	if err != nil {
		return err
	}
	p, err := producer.Open(ctx, store, producer.Config{Lease: lease})
	if err != nil {
		return err
	}
	run, err := p.Start(ctx, producer.StartOptions{ChatID: os.Getenv(chatEnv)})
	if err != nil {
		return err
	}
	events, err := strconv.ParseUint(os.Getenv(eventsEnv), 10, 64)
	if err != nil {
		return err
	}
	for i := range events {
		if _, err := run.Publish(ctx, Delta(i+1)); err != nil {
			return err
		}
	}
	if _, err := run.Flush(ctx); err != nil {
		return err
	}
	fmt.Println("run", run.ID())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// ProducerProcess starts a producer in a process of its own, which writes a run of so
// many events of numbered text and falls silent. The fabric's broker needs a listener.
func (f *Fabric) ProducerProcess(chat string, events uint64) (*Process, subjects.RunID) {
	f.Helper()
	lease := f.cfg.Lease
	if lease == 0 {
		lease = subjects.Lease
	}
	p := Role(f, ProducerRole, natsEnv+"="+f.url, chatEnv+"="+chat, leaseEnv+"="+lease.String(),
		fmt.Sprintf("%s=%d", eventsEnv, events))
	id, err := subjects.ParseRunID(p.Line("run "))
	require.NoError(f, err)
	return p, id
}
