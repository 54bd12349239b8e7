package producer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
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

// Two processes write one run: the one that came last owns it, the other is told so, and
// what the log holds is whole.
func TestTERM01TwoProcessesWriteOneRun(t *testing.T) {
	t.Parallel()
	for _, after := range []int{0, 1, 10} { // events of the first
		t.Run(strconv.Itoa(after), func(t *testing.T) {
			t.Parallel()
			s := broker(t, natsd.Config{})
			a, b := newProcess(t, s, producer.Config{}), newProcess(t, s, producer.Config{})
			r1 := a.start(t, "c")
			_, err := r1.Publish(within(t), []byte(`{"type":"RUN_STARTED"}`))
			require.NoError(t, err)
			_, err = r1.Flush(within(t))
			require.NoError(t, err)

			var wg sync.WaitGroup
			acked, takeOver := make([][][]byte, 2), make(chan struct{})
			taken := sync.OnceFunc(func() { close(takeOver) })
			write := func(r *producer.Run, who int, terminal string, reason subjects.Reason) {
				for i := range 20 {
					if who == 0 && i == after {
						taken()
					}
					e := fmt.Appendf(nil, `{"type":"CUSTOM","name":"w%d","value":%d}`, who, i)
					if _, err := r.Publish(within(t), e); err != nil {
						return
					}
					if _, err := r.Flush(within(t)); err != nil {
						return
					}
					acked[who] = append(acked[who], e)
				}
				if _, err := r.Publish(within(t), []byte(terminal)); err == nil {
					_, _ = r.Finish(within(t), producer.FinishOptions{Reason: reason})
				}
			}
			wg.Go(func() { defer taken(); write(r1, 0, `{"type":"RUN_FINISHED"}`, subjects.ReasonDone) })
			<-takeOver
			r2, err := b.Resume(within(t), r1.ID())
			if err != nil { // the first was faster with all of it
				require.ErrorIs(t, err, producer.ErrEnded)
			} else {
				wg.Go(func() { write(r2, 1, `{"type":"RUN_ERROR","message":"x"}`, subjects.ReasonError) })
			}
			wg.Wait()

			got, end := b.events(t, r1.ID())
			require.NotNil(t, end)
			second := false
			for _, e := range got {
				if bytes.Contains(e, []byte(`"w1"`)) || bytes.Contains(e, []byte("RUN_ERROR")) {
					second = true
				} else {
					require.False(t, second, "the fenced writer wrote on")
				}
			}
			for who := range acked {
				for _, e := range acked[who] {
					require.Contains(t, got, e, "what was acked is there")
				}
			}
			// Whoever comes later finds the same end, and cannot add to it.
			_, err = a.Resume(within(t), r1.ID())
			var ended *producer.EndedError
			require.ErrorAs(t, err, &ended)
			require.Equal(t, *end, ended.End)
			require.EqualValues(t, len(got), ended.Seq)
			_, err = r1.Publish(within(t), text(1))
			require.Error(t, err)
		})
	}
}

func TestManyResumesAtOnceLeaveOneWriter(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	procs := []*process{newProcess(t, s, producer.Config{}), newProcess(t, s, producer.Config{}), newProcess(t, s, producer.Config{})}
	r := procs[0].start(t, "c")
	_, err := r.Publish(within(t), custom(1))
	require.NoError(t, err)
	_, err = r.Flush(within(t))
	require.NoError(t, err)
	var mu sync.Mutex
	writers := []*producer.Run{r}
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			next, err := procs[i%3].Resume(within(t), r.ID())
			if err != nil {
				if !errors.Is(err, producer.ErrFenced) || errors.Is(err, producer.ErrEnded) {
					t.Error(err)
				}
				return
			}
			mu.Lock()
			writers = append(writers, next)
			mu.Unlock()
		})
	}
	wg.Wait()
	alive := 0
	for _, w := range writers {
		_, _ = w.Publish(within(t), custom(2))
		if _, err := w.Flush(within(t)); err == nil {
			alive++
			// The entry names the writer that the log does, or a janitor would
			// go by the wrong lease.
			last, err := procs[0].store.Last(within(t), r.ID())
			require.NoError(t, err)
			e, err := procs[0].store.Entry(within(t), r.ID())
			require.NoError(t, err)
			require.Equal(t, last.Writer, e.Writer)
			continue
		}
		require.ErrorIs(t, w.Err(), producer.ErrFenced)
	}
	require.Equal(t, 1, alive)
	got, _ := procs[0].events(t, r.ID())
	require.Equal(t, [][]byte{custom(1), custom(2)}, got)
}

// A writer dies within the parts of one large event: it was not acked, and its number is
// used again.
func TestTakeoverWithinTheParts(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	p := newProcess(t, s, producer.Config{})
	r := p.start(t, "c")
	_, err := r.Publish(within(t), custom(1))
	require.NoError(t, err)
	_, err = r.Flush(within(t))
	require.NoError(t, err)
	last, err := p.store.Last(within(t), r.ID())
	require.NoError(t, err)
	prev := last.StreamSeq
	for i := 1; i <= 2; i++ { // of three
		rec := subjects.Record{Kind: subjects.KindPart, Last: 1, Writer: last.Writer, Part: i, Parts: 3, Body: []byte(`{"type":"CUST`)}
		prev, err = p.store.Append(within(t), r.ID(), &rec, prev)
		require.NoError(t, err)
	}
	next, err := newProcess(t, s, producer.Config{}).Resume(within(t), r.ID())
	require.NoError(t, err)
	seq, err := next.Publish(within(t), custom(2))
	require.NoError(t, err)
	require.EqualValues(t, 2, seq)
	_, err = next.Finish(within(t), producer.FinishOptions{})
	require.NoError(t, err)
	got, _ := p.events(t, r.ID())
	require.Equal(t, [][]byte{custom(1), custom(2)}, got)
	require.Equal(t, 2, p.covered(t, r.ID()))
}

func TestReleaseAndResume(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	a, b := newProcess(t, s, producer.Config{}), newProcess(t, s, producer.Config{})
	r := a.start(t, "c")
	var fold agui.Fold
	n := 0
	for hop := range 6 {
		for range 300 {
			n++
			_, err := r.Publish(within(t), text(n))
			require.NoError(t, err)
			_, err = fold.AddLines(text(n))
			require.NoError(t, err)
		}
		require.NoError(t, r.Release(within(t)))
		_, err := r.Publish(within(t), text(n))
		require.ErrorIs(t, err, producer.ErrClosed)
		require.ErrorIs(t, r.Release(within(t)), producer.ErrClosed)
		require.NoError(t, r.Close())
		e, err := a.store.Entry(within(t), r.ID())
		require.NoError(t, err)
		require.Empty(t, e.Producer)
		require.True(t, e.Active())
		require.Equal(t, n, a.covered(t, r.ID()), "nothing depends on the log")

		p := []*process{b, a}[hop%2]
		r, err = p.Resume(within(t), r.ID())
		require.NoError(t, err)
		require.EqualValues(t, n, r.LastSeq())
		e, err = a.store.Entry(within(t), r.ID())
		require.NoError(t, err)
		require.Equal(t, p.LeaseID(), e.Producer)
	}
	_, err := r.Finish(within(t), producer.FinishOptions{Persisted: true})
	require.NoError(t, err)

	// What a reader makes of the segments is what it would make of all events.
	var got agui.Fold
	for seg, err := range a.store.Segments(within(t), r.ID(), 0) {
		require.NoError(t, err)
		_, err = got.AddLines(seg.Events)
		require.NoError(t, err)
	}
	require.Equal(t, string(fold.Cut()), string(got.Cut()))
}

func TestReleaseWhileTheBrokerIsAwayReturns(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	p := newProcess(t, s, producer.Config{})
	r := p.start(t, "c")
	s.Stop()
	_, err := r.Publish(within(t), text(1))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(within(t), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, r.Release(ctx), context.DeadlineExceeded)
	require.NoError(t, s.Restart())
	next, err := p.Resume(within(t), r.ID())
	require.NoError(t, err)
	require.LessOrEqual(t, next.LastSeq(), uint64(1), "what was not acked may be there or not")
}

// A run is resumed when its log no longer has its first records.
func TestResumeALongRun(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	a, b := newProcess(t, s, producer.Config{}), newProcess(t, s, producer.Config{})
	r := a.start(t, "c")
	const n = subjects.MaxRecordsPerRun + 300
	for i := 1; i <= n; i++ {
		_, err := r.Publish(within(t), custom(i))
		require.NoError(t, err)
		_, err = r.Flush(within(t)) // a record each
		require.NoError(t, err)
	}
	next, err := b.Resume(within(t), r.ID())
	require.NoError(t, err)
	require.EqualValues(t, n, next.LastSeq())
	_, err = next.Publish(within(t), custom(n+1))
	require.NoError(t, err)
	_, err = next.Finish(within(t), producer.FinishOptions{})
	require.NoError(t, err)
	require.Equal(t, n+1, a.covered(t, r.ID()))
	e, err := a.store.Entry(within(t), r.ID())
	require.NoError(t, err)
	require.Greater(t, e.ReplayFrom(n).StreamSeq, e.FirstStreamSeq)
}

// A takeover that is slow to say so in the entry does not say it over a newer one.
func TestALateTakeoverLeavesTheEntryToTheNewer(t *testing.T) {
	t.Parallel()
	p := newProcess(t, broker(t, natsd.Config{}), producer.Config{})
	r := p.start(t, "c")
	_, err := p.store.ChangeEntry(within(t), r.ID(), func(e *runs.Entry) error {
		e.Writer, e.Producer, e.ClaimStreamSeq = "newer", "other", 1<<40
		return nil
	})
	require.NoError(t, err)
	_, err = p.Resume(within(t), r.ID())
	require.ErrorIs(t, err, producer.ErrFenced)
	e, err := p.store.Entry(within(t), r.ID())
	require.NoError(t, err)
	require.Equal(t, "newer", e.Writer)
	require.Equal(t, "other", e.Producer)
}

// The last segment ends with an event in parts, and others in parts follow.
func TestResumeBehindAnEventInParts(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{MaxPayload: 64 << 10})
	a, b := newProcess(t, s, producer.Config{Logger: quiet()}), newProcess(t, s, producer.Config{})
	r := a.start(t, "c")
	var want [][]byte
	for i := range 3 {
		e := sized(subjects.SegmentBytes + i)
		_, err := r.Publish(within(t), e)
		require.NoError(t, err)
		_, err = r.Flush(within(t))
		require.NoError(t, err)
		want = append(want, e)
		if i == 0 {
			require.Eventually(t, func() bool { return a.covered(t, r.ID()) == 1 }, patience, time.Millisecond)
			b.lockBucket(t, true) // what follows is in the log alone
		}
	}
	a.nc.Close()
	b.lockBucket(t, false)
	next, err := b.Resume(within(t), r.ID())
	require.NoError(t, err)
	require.EqualValues(t, 3, next.LastSeq())
	require.NoError(t, next.Release(within(t)))
	require.Equal(t, 3, b.covered(t, r.ID()))
	var got [][]byte
	for seg, err := range b.store.Segments(within(t), r.ID(), 0) {
		require.NoError(t, err)
		got = append(got, bytes.Split(seg.Events, []byte{'\n'})...)
	}
	require.Equal(t, want, got)
}

// What no segment holds is gone from the log: the run cannot be taken over, and whoever
// waits for it is told.
func TestResumeOfARunThatLostEvents(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	a, b := newProcess(t, s, producer.Config{Logger: quiet()}), newProcess(t, s, producer.Config{Logger: quiet()})
	r := a.start(t, "c")
	for i := 1; i <= 3; i++ {
		_, err := r.Publish(within(t), custom(i))
		require.NoError(t, err)
		_, err = r.Flush(within(t))
		require.NoError(t, err)
	}
	a.nc.Close()
	js, err := jetstream.New(b.nc)
	require.NoError(t, err)
	st, err := js.Stream(within(t), subjects.RunsStream(r.ID().Partition()))
	require.NoError(t, err)
	require.NoError(t, st.Purge(within(t), jetstream.WithPurgeSubject(subjects.RunSubject(r.ID())), jetstream.WithPurgeKeep(1)))
	_, err = b.Resume(within(t), r.ID())
	require.ErrorIs(t, err, producer.ErrLogLost)
	require.ErrorContains(t, err, "of its events up to seq 3")
	e, err := b.store.Entry(within(t), r.ID())
	require.NoError(t, err)
	require.Empty(t, e.Producer, "for a janitor to end")
}
