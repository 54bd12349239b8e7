package consumer_test

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
)

func TestTERM06_OnlyTheEndFrameEnds(t *testing.T) {
	t.Parallel()
	last := end("r1", 3)
	whole := last.AppendSSE(nil)
	for name, tail := range map[string][]any{
		"closed in order before the end": {""},
		"broken before the end":          {cut{}},
		"end cut in the middle":          {whole[:len(whole)/2]},
		"end without its blank line":     {whole[:len(whole)-1]},
		"end without its line end":       {whole[:len(whole)-2]},
		"end broken at the blank line":   {whole[:len(whole)-1], cut{}},
		"RUN_FINISHED alone":             {"data: {\"type\":\"RUN_FINISHED\"}\n\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRelay(t)
			first := append([]any{snapshot("r1", 1, upTo(1)), event("r1", 2), event("r1", 3)}, tail...)
			r.script = []answer{stream(first...), r.rest("r1", 3)}
			v, frames, err := drain(t, r.watch(consumer.Watch{}))
			require.ErrorIs(t, err, io.EOF, name)
			require.Equal(t, "SEEZ", types(frames), name)
			require.Equal(t, upTo(3), string(v.Events()), name)
			require.Len(t, r.requests(), 2, name)
			require.EqualValues(t, 3, *r.requests()[1].AfterSeq, name)
		})
	}
}

func TestTERM06_AStreamThatNeverEndsIsInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRelay(t, stream(snapshot("r1", 1, upTo(1))), stream())
		_, _, err := drain(t, r.watch(consumer.Watch{}))
		require.ErrorIs(t, err, consumer.ErrInterrupted)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.NotErrorIs(t, err, io.EOF)
	})
}

// A relay closes every connection after a minute. The run takes half an hour and
// is silent for most of it, longer than any number of attempts would last.
func TestTERM08_ConnectionsClosedByAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRelay(t)
		minute := func(parts ...any) answer {
			for range 4 {
				parts = append(parts, ":\n\n", 15*time.Second)
			}
			return stream(append(parts, "retry: 300\n\n")...)
		}
		r.script = []answer{minute(snapshot("r1", 1, upTo(1)))}
		for i := range 30 {
			if i%10 == 9 {
				r.script = append(r.script, minute(event("r1", uint64(i/10+2))))
			} else {
				r.script = append(r.script, minute())
			}
		}
		r.script = append(r.script, r.rest("r1", 5))
		v, frames, err := drain(t, r.watch(consumer.Watch{}))
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, "SEEEEZ", types(frames))
		require.Equal(t, upTo(5), string(v.Events()))
		asked := r.requests()
		for i, a := range asked[1:] {
			away := a.at - asked[i].at - time.Minute
			require.GreaterOrEqual(t, away, 300*time.Millisecond, "retry is honoured")
			require.LessOrEqual(t, away, 300*time.Millisecond+r.client.Backoff.Ceiling(0))
		}
	})
}

func TestTERM08_TheFirstFrameDoesNotWaitForTheRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRelay(t, stream(snapshot("r1", 1, upTo(1)), 40*time.Second, end("r1", 1)))
		s := r.watch(consumer.Watch{})
		began := time.Now()
		_, err := s.Next(t.Context())
		require.NoError(t, err)
		require.Zero(t, time.Since(began))
	})
}

func TestARunThatWasNotSaved(t *testing.T) {
	t.Parallel()
	for _, reason := range []subjects.Reason{subjects.ReasonAbandoned, subjects.ReasonSaveFailed, subjects.ReasonSkipped} {
		synctest.Test(t, func(t *testing.T) {
			r := newRelay(t, stream(snapshot("r1", 1, upTo(1)), consumer.Frame{
				Type: consumer.End, RunID: "r1", Seq: 1, End: subjects.End{Reason: reason}}))
			v, frames, err := drain(t, r.watch(consumer.Watch{Follow: true}))
			require.Equal(t, "SZ", types(frames))
			require.Equal(t, reason, v.End().Reason)
			require.ErrorIs(t, err, consumer.ErrPersistence)
			require.ErrorContains(t, err, string(reason))
			require.NotErrorIs(t, err, io.EOF)
			require.Len(t, r.requests(), 1)
		})
	}
}

func superseded(run subjects.RunID, seq uint64, next subjects.RunID) consumer.Frame {
	return consumer.Frame{Type: consumer.End, RunID: run, Seq: seq,
		End: subjects.End{Superseded: true, Reason: subjects.ReasonSuperseded, NextRunID: next}}
}

func TestASupersededRunIsNoSuccess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRelay(t, stream(snapshot("r1", 1, upTo(1)), superseded("r1", 1, "r2")))
		_, frames, err := drain(t, r.watch(consumer.Watch{}))
		require.Equal(t, "SZ", types(frames))
		require.ErrorIs(t, err, consumer.ErrSuperseded)
		require.ErrorContains(t, err, "r2")
	})
}

func TestFollowGoesOnWithTheRunThatTookTheChat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRelay(t,
			stream(snapshot("r1", 1, upTo(1)), superseded("r1", 1, "r2")),
			stream(snapshot("r2", 2, upTo(2)), superseded("r2", 2, "")),
			stream(snapshot("r3", 0), event("r3", 1), end("r3", 1)))
		v, frames, err := drain(t, r.watch(consumer.Watch{Follow: true}))
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, "SZSZSEZ", types(frames))
		require.Equal(t, upTo(1), string(v.Events()))
		require.Equal(t, []request{
			{ChatID: "c1", Protocol: 1},
			{ChatID: "c1", Protocol: 1, RunID: "r2"}, // named, so that it counts as known even if it is over
			{ChatID: "c1", Protocol: 1},
		}, timeless(r.requests()))
	})
}

func TestFollowDoesNotGoInACircle(t *testing.T) {
	t.Parallel()
	one := stream(snapshot("r1", 1, upTo(1)), superseded("r1", 1, "r2"))
	two := stream(snapshot("r2", 1, upTo(1)), superseded("r2", 1, "r1"))
	synctest.Test(t, func(t *testing.T) {
		r := newRelay(t, one)
		_, frames, err := drain(t, r.watch(consumer.Watch{Follow: true}))
		require.ErrorIs(t, err, consumer.ErrInterrupted)
		require.Equal(t, "SZ", types(frames))
		require.Len(t, r.requests(), 6)
	})
	synctest.Test(t, func(t *testing.T) {
		r := newRelay(t, one, two, one, two, one, two, one, two)
		_, frames, err := drain(t, r.watch(consumer.Watch{Follow: true}))
		require.ErrorIs(t, err, consumer.ErrInterrupted)
		require.Equal(t, "SZSZ", types(frames))
		require.Len(t, r.requests(), 7)
	})
	for _, next := range []subjects.RunID{"r2", ""} {
		synctest.Test(t, func(t *testing.T) {
			r := newRelay(t, stream(snapshot("r1", 1, upTo(1)), superseded("r1", 1, next)), idle)
			_, frames, err := drain(t, r.watch(consumer.Watch{Follow: true}))
			require.ErrorIs(t, err, consumer.ErrUnavailable, "the next run came and went")
			require.Equal(t, "SZ", types(frames))
		})
	}
}
