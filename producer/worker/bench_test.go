package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/producer/worker"
	"github.com/rejoin/rejoin/test/harness"
)

// BenchmarkSendToAgent is the way of a turn from its sending until its agent runs: the
// run is made, the chat's pointer moves, the turn is queued, claimed and begun. The floor
// is a bare work queue in the same process, which does nothing but hand a message over.
func BenchmarkSendToAgent(b *testing.B) {
	floor := handOver(b)
	f := newFabric(b, harness.Config{})
	begun := make(chan struct{}, 1)
	f.work(agent.Func(func(context.Context, agent.Turn) error {
		begun <- struct{}{}
		return nil
	}), worker.Config{Concurrency: 64})
	ctx := within(b)
	n := 0
	for b.Loop() {
		n++
		_, err := f.queue.Send(ctx, turns.SendRequest{ChatID: fmt.Sprint(n), Input: json.RawMessage(`{"text":"hi"}`)})
		require.NoError(b, err)
		<-begun
	}
	each := b.Elapsed() / time.Duration(n)
	b.ReportMetric(float64(each)/float64(floor), "x-floor")
	b.ReportMetric(float64(floor.Nanoseconds()), "floor-ns")
}

// handOver is how long a message takes through a bare work queue, from publishing it
// until its receiver has it and has acknowledged it.
func handOver(b *testing.B) time.Duration {
	b.Helper()
	broker, err := natsd.Start(natsd.Config{})
	require.NoError(b, err)
	defer broker.Shutdown()
	nc, err := broker.Connect()
	require.NoError(b, err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	require.NoError(b, err)
	ctx := within(b)
	_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: "Q", Subjects: []string{"q"}, Retention: jetstream.WorkQueuePolicy})
	require.NoError(b, err)
	c, err := js.CreateConsumer(ctx, "Q", jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy})
	require.NoError(b, err)
	const rounds = 500
	got := make(chan error, 1)
	go func() {
		for range rounds {
			m, err := c.Next()
			if err == nil {
				err = m.DoubleAck(ctx)
			}
			got <- err
		}
	}()
	from := time.Now()
	for range rounds {
		_, err := js.Publish(ctx, "q", nil)
		require.NoError(b, err)
		require.NoError(b, <-got)
	}
	return time.Since(from) / rounds
}
