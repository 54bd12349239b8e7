package producer_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
)

// quiet is for tests whose log would be the fault repeated.
func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// lockBucket makes the broker refuse every new key in the main bucket, or take it again.
func (p *process) lockBucket(t testing.TB, locked bool) {
	t.Helper()
	js, err := jetstream.New(p.nc)
	require.NoError(t, err)
	cfg := subjects.BucketConfig(1)
	if locked {
		cfg.MaxMsgs = 1
	}
	_, err = js.UpdateStream(within(t), cfg)
	require.NoError(t, err)
}

// While segments cannot be stored, publishing goes on until the log would drop what no
// segment holds; then it waits, and nothing is lost.
func TestPublishingWaitsRatherThanLosesHistory(t *testing.T) {
	t.Parallel()
	var stalls, failures atomic.Int64
	flushing, giveUp := context.WithCancel(within(t)) // nobody flushes for ever once it has stalled
	defer giveUp()
	p := newProcess(t, broker(t, natsd.Config{}), producer.Config{Logger: quiet(), Metrics: producer.Metrics{
		Stalled: func() { stalls.Add(1); giveUp() },
		Checkpoint: func(_, _ int, _ time.Duration, err error) {
			if err != nil {
				failures.Add(1)
			}
		},
	}})
	r := p.start(t, "c")
	_, err := r.Publish(within(t), custom(1))
	require.NoError(t, err)
	_, err = r.Flush(within(t))
	require.NoError(t, err)
	p.lockBucket(t, true)

	n := 1
	var waited error
	for waited == nil {
		n++
		require.LessOrEqual(t, n, subjects.MaxRecordsPerRun+10, "the log drops events")
		_, err := r.Publish(within(t), custom(n))
		require.NoError(t, err)
		_, waited = r.Flush(flushing)
	}
	require.ErrorIs(t, waited, context.Canceled)
	require.Greater(t, n, subjects.MaxRecordsPerRun-100, "no earlier than it has to")
	require.EqualValues(t, 1, stalls.Load())
	require.Eventually(t, func() bool { return failures.Load() > 0 }, patience, 10*time.Millisecond, "and says so")
	got, _ := p.events(t, r.ID())
	require.Len(t, got, n-1, "the log still holds all of them")

	p.lockBucket(t, false)
	_, err = r.Flush(within(t))
	require.NoError(t, err)
	_, err = r.Finish(within(t), producer.FinishOptions{})
	require.NoError(t, err)
	require.Equal(t, n, p.covered(t, r.ID()))
}

// The same by size: what is not covered is kept in memory too, and memory is bounded.
func TestPublishingWaitsRatherThanFillsMemory(t *testing.T) {
	t.Parallel()
	var stalled atomic.Bool
	p := newProcess(t, broker(t, natsd.Config{}), producer.Config{Logger: quiet(), Metrics: producer.Metrics{
		Stalled: func() { stalled.Store(true) },
	}})
	r := p.start(t, "c")
	p.lockBucket(t, true)
	large := bytes.Replace(custom(1), []byte(`"n"`), []byte(`"`+string(bytes.Repeat([]byte{'x'}, 1<<20))+`"`), 1)
	n := 0
	for waits := false; !waits; { // one that waits before it has stalled is merely slow
		ctx, cancel := context.WithTimeout(within(t), time.Second)
		was := stalled.Load()
		if _, err := r.Publish(ctx, large); err == nil {
			n++
		} else {
			require.ErrorIs(t, err, context.DeadlineExceeded)
			waits = was
		}
		cancel()
	}
	require.LessOrEqual(t, n, 32+8+1, "32 MiB that are stored and 8 that are not")
	require.GreaterOrEqual(t, r.StoredSeq(), uint64(30))
	p.lockBucket(t, false)
	_, err := r.Finish(within(t), producer.FinishOptions{})
	require.NoError(t, err)
	require.Equal(t, n, p.covered(t, r.ID()))
}

// Whoever takes over a run that waits stores the segments that it waits for.
func TestARunThatWaitsIsTakenOver(t *testing.T) {
	t.Parallel()
	flushing, giveUp := context.WithCancel(within(t))
	defer giveUp()
	s := broker(t, natsd.Config{})
	p := newProcess(t, s, producer.Config{Logger: quiet(), Metrics: producer.Metrics{Stalled: giveUp}})
	next := newProcess(t, s, producer.Config{Logger: quiet()})
	r := p.start(t, "c")
	p.lockBucket(t, true)
	n := 0
	for flushing.Err() == nil {
		n++
		_, err := r.Publish(within(t), custom(n))
		require.NoError(t, err)
		_, _ = r.Flush(flushing)
	}
	p.nc.Close()
	next.lockBucket(t, false)
	r, err := next.Resume(within(t), r.ID())
	require.NoError(t, err)
	require.EqualValues(t, n-1, r.LastSeq())
	_, err = r.Publish(within(t), custom(n))
	require.NoError(t, err)
	stored, err := r.Flush(within(t))
	require.NoError(t, err)
	require.EqualValues(t, n, stored)
}

// A run ends also when its last segment cannot be stored: the log has the events.
func TestFinishDoesNotWaitForeverForTheLastSegment(t *testing.T) {
	t.Parallel()
	p := newProcess(t, broker(t, natsd.Config{}), producer.Config{Logger: quiet()})
	r := p.start(t, "c")
	_, err := r.Publish(within(t), custom(1))
	require.NoError(t, err)
	p.lockBucket(t, true)
	end, err := r.Finish(within(t), producer.FinishOptions{Persisted: true})
	require.NoError(t, err)
	require.True(t, end.Persisted)
	got, logged := p.events(t, r.ID())
	require.Len(t, got, 1)
	require.Equal(t, &end, logged)
	require.Zero(t, p.covered(t, r.ID()))
}

// A former writer stored the next segment and died before the entry said so, or an
// attempt of our own did. It is adopted, wherever it ends.
func TestASegmentThatExistsIsAdopted(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]int{"within a record": 150, "at a record's end": 200, "nearly due": 500} {
		for _, resumed := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", resumed"}[resumed], func(t *testing.T) {
				t.Parallel()
				s := broker(t, natsd.Config{})
				p := newProcess(t, s, producer.Config{})
				r := p.start(t, "c")
				var lines []byte
				for i := 1; i <= 500; i++ {
					_, err := r.Publish(within(t), custom(i))
					require.NoError(t, err)
					if i <= to {
						lines = append(append(lines, custom(i)...), '\n')
					}
					if i%100 == 0 {
						_, err := r.Flush(within(t))
						require.NoError(t, err)
					}
					if i != (to+99)/100*100 {
						continue
					}
					page, err := p.store.Page(within(t), r.ID(), 0)
					require.NoError(t, err)
					holds := slices.IndexFunc(page, func(s runs.Stored) bool { return s.Last >= uint64(to) })
					seg := subjects.Segment{From: 1, To: uint64(to), StreamSeq: page[holds].StreamSeq, Writer: "former"}
					require.NoError(t, p.store.CreateSegment(within(t), r.ID(), 0, seg, bytes.TrimSpace(lines)))
				}
				var err error
				if resumed {
					r, err = newProcess(t, s, producer.Config{}).Resume(within(t), r.ID())
					require.NoError(t, err)
				}
				for i := 501; i <= 700; i++ {
					_, err = r.Publish(within(t), custom(i))
					require.NoError(t, err)
				}
				_, err = r.Finish(within(t), producer.FinishOptions{})
				require.NoError(t, err)

				require.Equal(t, 700, p.covered(t, r.ID()))
				var got agui.Fold
				for seg, err := range p.store.Segments(within(t), r.ID(), 0) {
					require.NoError(t, err)
					if seg.N == 0 {
						require.EqualValues(t, to, seg.To)
					}
					_, err = got.AddLines(seg.Events)
					require.NoError(t, err)
				}
				require.Equal(t, 700, got.Count())
				for i, line := range bytes.Split(got.Cut(), []byte{'\n'}) {
					require.Equal(t, string(custom(i+1)), string(line))
				}
			})
		}
	}
}
