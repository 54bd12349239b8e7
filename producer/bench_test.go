package producer_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
)

// benchEvents are events of 200 bytes, as an agent sends them.
func benchEvents() [][]byte {
	events := make([][]byte, 1000)
	for i := range events {
		e := text(i)
		pad := bytes.Repeat([]byte{'w'}, 200-len(e))
		events[i] = bytes.Replace(e, []byte(`"delta":"`), append([]byte(`"delta":"`), pad...), 1)
	}
	return events
}

// asyncWindow is how many unacknowledged messages the broker's own asynchronous publish
// has in flight.
const asyncWindow = 200

// BenchmarkPublishOneRun publishes events of one run as fast as they are taken, until all
// are stored and the run has its end: checked, numbered, fenced, folded into segments. ratio
// is how many times as many events a second that is as the broker's own asynchronous
// publish of the same events manages on the same machine, which does none of this.
func BenchmarkPublishOneRun(b *testing.B) {
	s := broker(b, natsd.Config{Listen: "127.0.0.1:0"})
	p := newProcess(b, s, producer.Config{Logger: quiet()})
	events := benchEvents()
	ctx := context.Background()
	r, err := p.Start(ctx, producer.StartOptions{ChatID: "c"})
	require.NoError(b, err)
	b.SetBytes(int64(len(events[0])))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if _, err := r.Publish(ctx, events[n%len(events)]); err != nil {
			b.Fatal(err)
		}
		n++
	}
	_, err = r.Flush(ctx)
	require.NoError(b, err)
	took := b.Elapsed()
	b.StopTimer()
	_, err = r.Finish(ctx, producer.FinishOptions{})
	require.NoError(b, err)
	rate := float64(n) / took.Seconds()
	b.ReportMetric(rate, "events/s")

	const compared = 50_000
	from := time.Now()
	asyncPublish(b, p.nc, compared)
	b.ReportMetric(rate/(compared/time.Since(from).Seconds()), "ratio")
}

// BenchmarkJetStreamAsyncPublish is what the broker's own client does.
func BenchmarkJetStreamAsyncPublish(b *testing.B) {
	s := broker(b, natsd.Config{Listen: "127.0.0.1:0"})
	p := newProcess(b, s, producer.Config{Logger: quiet()})
	b.SetBytes(200)
	b.ReportAllocs()
	b.ResetTimer()
	asyncPublish(b, p.nc, b.N)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

func asyncPublish(b *testing.B, nc *nats.Conn, n int) {
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(asyncWindow))
	require.NoError(b, err)
	subject := subjects.RunSubject(subjects.NewRunID(0))
	events := benchEvents()
	for i := range n {
		if _, err := js.PublishAsync(subject, events[i%len(events)], jetstream.WithStallWait(10*time.Second)); err != nil {
			b.Fatal(err)
		}
	}
	<-js.PublishAsyncComplete()
}

// BenchmarkPublishAndFlush is the pace of an agent whose every event is waited for: a
// record each, and its latency.
func BenchmarkPublishAndFlush(b *testing.B) {
	s := broker(b, natsd.Config{Listen: "127.0.0.1:0"})
	p := newProcess(b, s, producer.Config{Logger: quiet()})
	events := benchEvents()
	ctx := context.Background()
	r, err := p.Start(ctx, producer.StartOptions{ChatID: "c"})
	require.NoError(b, err)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if _, err := r.Publish(ctx, events[n%len(events)]); err != nil {
			b.Fatal(err)
		}
		if _, err := r.Flush(ctx); err != nil {
			b.Fatal(err)
		}
		n++
	}
}
