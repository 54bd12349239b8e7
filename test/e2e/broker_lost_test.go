package e2e_test

import (
	"context"
	"errors"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// BRK-01, BRK-03: the broker has lost the log of a run, or all it had. The producer is told
// so with its next event, and every reader comes to an end: whoever waited, whoever
// had not read everything, whoever comes later.
func TestBRK01_ALostLogEndsTheRun(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(context.Context, *testing.T, jetstream.JetStream){
		"emptied": emptyLogs,
		"deleted": deleteLogs,
		// Whoever publishes to a stream that is gone is told so by the lack of anybody who
		// listens; this takes that away.
		"deleted while somebody listens": func(ctx context.Context, t *testing.T, js jetstream.JetStream) {
			_, err := js.Conn().Subscribe("rejoin.run.>", func(*nats.Msg) {})
			require.NoError(t, err)
			deleteLogs(ctx, t, js)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := bounded(t)
			f := harness.New(t, harness.Config{})
			relay := f.Relay(harness.RelayConfig{})
			run := f.Start(f.Producer(f.Connect()), "chat")
			f.Publish(run, 1, 1000)

			waiting, behind := readTo(ctx, t, relay, 1000), readTo(ctx, t, relay, 20)
			lose(ctx, t, admin(t, relay))
			require.ErrorIs(t, publishUntilRefused(ctx, run), producer.ErrLogLost)

			require.NoError(t, waiting.o.ToEnd(ctx, waiting.from))
			require.NoError(t, waiting.o.Holds(1000))
			require.NoError(t, behind.o.ToEnd(ctx, behind.from))
			require.NoError(t, behind.o.Holds(behind.o.Seq))
			late := readTo(ctx, t, relay, 0)
			require.NoError(t, late.o.ToEnd(ctx, late.from))
			require.NoError(t, late.o.Holds(late.o.Seq))
			require.GreaterOrEqual(t, late.o.Seq, uint64(subjects.SegmentEvents), "segments outlive the log")
			for _, o := range []*harness.Observer{waiting.o, behind.o, late.o} {
				require.Equal(t, subjects.End{Reason: subjects.ReasonError}, *o.End)
			}
			end, err := run.Finish(ctx, producer.FinishOptions{Persisted: true})
			require.NoError(t, err)
			require.Equal(t, subjects.End{Reason: subjects.ReasonError}, end, "what readers were told stands")
			f.Publish(f.Start(f.Producer(f.Connect()), "chat"), 1, 10)
		})
	}
}

// The same when nothing at all is left: there is no run any more that could have an
// end, so that readers are sent to the history.
func TestBRK01_ABrokerThatComesBackEmptySendsReadersAway(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	f := harness.New(t, harness.Config{})
	relay := f.Relay(harness.RelayConfig{})
	run := f.Start(f.Producer(f.Connect()), "chat")
	f.Publish(run, 1, 1000)
	waiting, behind := readTo(ctx, t, relay, 1000), readTo(ctx, t, relay, 20)

	js := admin(t, relay)
	emptyLogs(ctx, t, js)
	bucket, err := js.Stream(ctx, subjects.BucketStream)
	require.NoError(t, err)
	require.NoError(t, bucket.Purge(ctx))
	require.ErrorIs(t, publishUntilRefused(ctx, run), producer.ErrLogLost)
	for _, r := range []reading{waiting, behind} {
		err := r.o.ToEnd(ctx, r.from)
		require.True(t, errors.Is(err, consumer.ErrUnavailable) || errors.Is(err, consumer.ErrGone), err)
	}
	late := readTo(ctx, t, relay, 0)
	_, err = late.from.Next(ctx)
	require.ErrorIs(t, err, consumer.ErrIdle)
	f.Publish(f.Start(f.Producer(f.Connect()), "chat"), 1, 10)
}

func emptyLogs(ctx context.Context, t *testing.T, js jetstream.JetStream) {
	t.Helper()
	for p := range 2 {
		s, err := js.Stream(ctx, subjects.RunsStream(p))
		require.NoError(t, err)
		require.NoError(t, s.Purge(ctx))
	}
}

func deleteLogs(ctx context.Context, t *testing.T, js jetstream.JetStream) {
	t.Helper()
	for p := range 2 {
		require.NoError(t, js.DeleteStream(ctx, subjects.RunsStream(p)))
	}
}

func admin(t *testing.T, relay *harness.Relay) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(relay.NC)
	require.NoError(t, err)
	return js
}

// publishUntilRefused publishes numbered text until the run takes no more, and says why.
func publishUntilRefused(ctx context.Context, run *producer.Run) error {
	for {
		if _, err := run.Publish(ctx, harness.Delta(run.LastSeq()+1)); err != nil {
			return err
		}
	}
}

// reading is an observer and where it reads from.
type reading struct {
	o    *harness.Observer
	from source
}

// readTo attaches a client to the chat and reads up to seq.
func readTo(ctx context.Context, t *testing.T, relay *harness.Relay, seq uint64) reading {
	t.Helper()
	s := relay.Client().Watch(ctx, consumer.Watch{ChatID: "chat"})
	t.Cleanup(func() { _ = s.Close() })
	r := reading{&harness.Observer{}, s}
	require.NoError(t, r.o.Until(ctx, s, seq))
	return r
}

// readFrom attaches a client at a cursor.
func readFrom(ctx context.Context, t *testing.T, relay *harness.Relay, id subjects.RunID, after uint64) reading {
	t.Helper()
	s := relay.Client().Watch(ctx, consumer.Watch{ChatID: "chat", RunID: id, AfterSeq: &after})
	t.Cleanup(func() { _ = s.Close() })
	return reading{harness.At(id, after), s}
}
