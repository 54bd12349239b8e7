package producer_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
)

// The broker is stopped for three seconds at event 50.
func TestDUP04TheBrokerStopsAtEvent50(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	p := newProcess(t, s, producer.Config{})
	r := p.start(t, "c")
	var restarted sync.WaitGroup
	var want [][]byte
	for i := 1; i <= 100; i++ {
		if i == 50 {
			s.Stop()
			restarted.Go(func() {
				time.Sleep(3 * time.Second) // the fault's length, not a wait for anything
				_ = s.Restart()
			})
		}
		seq, err := r.Publish(within(t), custom(i))
		require.NoError(t, err)
		require.EqualValues(t, i, seq)
		want = append(want, custom(i))
		if i < 50 {
			_, err = r.Flush(within(t)) // each its own record
			require.NoError(t, err)
		}
	}
	stored, err := r.Flush(within(t))
	require.NoError(t, err)
	require.EqualValues(t, 100, stored)
	restarted.Wait()
	got, _ := p.events(t, r.ID())
	require.Equal(t, want, got)
}

// Acks are lost, again and again: what the broker stored is not stored twice.
func TestDUP04OnlyTheAckIsLost(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{Listen: "127.0.0.1:0"})
	px := newProxy(t, s)
	nc, err := nats.Connect(px.url(), nats.MaxReconnects(-1), nats.ReconnectWait(5*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	p := newProcessOn(t, nc, producer.Config{})
	r := p.start(t, "c")
	direct := newProcess(t, s, producer.Config{})
	var want [][]byte
	for i := 1; i <= 30; i++ {
		lose := i%3 == 0
		if lose {
			px.lose()
		}
		_, err := r.Publish(within(t), custom(i))
		require.NoError(t, err)
		want = append(want, custom(i))
		if lose {
			// It is stored, and the producer cannot know.
			require.Eventually(t, func() bool {
				last, err := direct.store.Last(within(t), r.ID())
				return err == nil && last.Last == uint64(i)
			}, patience, time.Millisecond)
			px.cut()
		}
		_, err = r.Flush(within(t))
		require.NoError(t, err)
	}
	end, err := r.Finish(within(t), producer.FinishOptions{Persisted: true})
	require.NoError(t, err)
	require.True(t, end.Persisted)
	got, _ := p.events(t, r.ID())
	require.Equal(t, want, got)
}

// Connections break at random times while events are published as fast as they go.
func TestWhatWasAckedIsInTheLogOnceWhateverBreaks(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{Listen: "127.0.0.1:0"})
	px := newProxy(t, s)
	nc, err := nats.Connect(px.url(), nats.MaxReconnects(-1), nats.ReconnectWait(5*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	p := newProcessOn(t, nc, producer.Config{})
	r := p.start(t, "c")
	ctx, stop := context.WithCancel(within(t))
	var trouble sync.WaitGroup
	trouble.Go(func() {
		for ctx.Err() == nil {
			time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond) // at any moment
			if rand.IntN(2) == 0 {
				px.lose()
				time.Sleep(time.Duration(rand.IntN(5)) * time.Millisecond) // that much of it is lost
			}
			px.cut()
		}
	})
	const n = 30_000
	for i := 1; i <= n; i++ {
		seq, err := r.Publish(within(t), text(i))
		require.NoError(t, err)
		require.EqualValues(t, i, seq)
		if i%1000 == 0 {
			time.Sleep(5 * time.Millisecond) // so that the trouble meets small records too
		}
	}
	stop()
	trouble.Wait()
	_, err = r.Finish(within(t), producer.FinishOptions{})
	require.NoError(t, err)
	require.Equal(t, n, p.covered(t, r.ID()))
	got, _ := p.events(t, r.ID())
	for i := range got {
		require.Equal(t, string(text(n-len(got)+i+1)), string(got[i]))
	}
}

// The ack is lost and another process takes the run before the writer can look: what was
// stored counts as stored, and only what follows is fenced.
func TestDUP04TheAckIsLostAndTheRunIsTaken(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{Listen: "127.0.0.1:0"})
	px := newProxy(t, s)
	nc, err := nats.Connect(px.url(), nats.MaxReconnects(-1), nats.ReconnectWait(5*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	a, b := newProcessOn(t, nc, producer.Config{}), newProcess(t, s, producer.Config{})
	for _, taken := range []string{"over", "by an end"} {
		r := a.start(t, taken)
		px.lose()
		_, err = r.Publish(within(t), custom(1))
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			last, err := b.store.Last(within(t), r.ID())
			return err == nil && last.Last == 1
		}, patience, time.Millisecond)
		var next *producer.Run
		if taken == "over" {
			next, err = b.Resume(within(t), r.ID())
			require.NoError(t, err)
			_, err = next.Publish(within(t), custom(2))
			require.NoError(t, err)
			_, err = next.Flush(within(t))
		} else {
			_, err = b.store.EndRun(within(t), r.ID(), subjects.End{Reason: subjects.ReasonAbandoned})
		}
		require.NoError(t, err)
		px.cut()
		stored, err := r.Flush(within(t))
		require.NoError(t, err, "event 1 is stored")
		require.EqualValues(t, 1, stored)
		_, err = r.Publish(within(t), custom(3))
		require.NoError(t, err)
		_, err = r.Flush(within(t))
		require.ErrorIs(t, err, producer.ErrFenced)
		require.EqualValues(t, 1, r.StoredSeq())
	}
}
