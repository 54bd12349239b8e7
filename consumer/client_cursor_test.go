package consumer_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
)

func TestCUR05_CursorIsLastCompleteEvent(t *testing.T) {
	t.Parallel()
	var body []byte
	var whole []int // where each event's blank line ends
	for seq := range uint64(3) {
		f := event("r1", seq+1)
		body = f.AppendSSE(body)
		whole = append(whole, len(body))
	}
	for k := range len(body) + 1 {
		for _, after := range []any{cut{}, ""} {
			synctest.Test(t, func(t *testing.T) {
				r := newRelay(t)
				r.script = []answer{
					stream(body[:k], after),
					status(http.StatusUnauthorized), status(http.StatusTooManyRequests),
					status(http.StatusInternalServerError), status(http.StatusServiceUnavailable, "Retry-After", "7"),
					r.rest("r1", 3),
				}
				r.client.Token = func(context.Context) (string, error) { return "t", nil }
				v, frames, err := drain(t, r.watch(consumer.Watch{RunID: "r1", AfterSeq: new(uint64(0))}))
				require.ErrorIs(t, err, io.EOF, k)
				require.Equal(t, "EEEZ", types(frames), k)
				require.Equal(t, upTo(3), string(v.Events()), k)

				complete := uint64(0)
				for _, end := range whole {
					if k >= end {
						complete++
					}
				}
				asked := r.requests()
				require.Len(t, asked, 6, k)
				for _, a := range asked[1:] {
					require.Equal(t, complete, *a.AfterSeq, k)
				}
			})
		}
	}
}

// Whatever answers in a circle, the client slows down and gives up.
func TestCUR06_NoCircle(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script   []answer
		requests int
		frames   string
	}{
		"closes after the headers": {[]answer{stream()}, 5, ""},
		"only comments":            {[]answer{stream(":\n\n")}, 5, ""},
		"only synced":              {[]answer{stream(snapshot("r1", 1, nth(1))), stream(consumer.Frame{Type: consumer.Synced, RunID: "r1", Seq: 1})}, 6, "SYYYYY"},
		"snapshot and close":       {[]answer{stream(snapshot("r1", 1, nth(1)))}, 6, "SSSSSS"},
		"a cached answer":          {[]answer{stream(snapshot("r1", 1, nth(1)), event("r1", 2), event("r1", 3))}, 6, "SEESEESEESEESEESEE"},
		"cursors that point at each other": {
			[]answer{stream(snapshot("r1", 9)), stream(snapshot("r2", 9)), stream(snapshot("r1", 9)), stream(snapshot("r2", 9)),
				stream(snapshot("r1", 8)), stream(snapshot("r2", 7)), stream(snapshot("r1", 9))}, 7, "SSSSSSS"},
		"a gap that stays": {[]answer{stream(snapshot("r1", 1, nth(1)), event("r1", 3))}, 6, "SSSSSS"},
		"refuses":          {[]answer{status(503)}, 5, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRelay(t, c.script...)
			_, frames, err := drain(t, r.watch(consumer.Watch{}))
			require.ErrorIs(t, err, consumer.ErrInterrupted, name)
			require.Equal(t, c.frames, types(frames), name)
			asked := r.requests()
			require.Len(t, asked, c.requests, name)
			var ceiling time.Duration
			for n := range c.requests {
				ceiling += r.client.Backoff.Ceiling(n)
			}
			require.LessOrEqual(t, asked[len(asked)-1].at, ceiling, name)
			time.Sleep(time.Hour)
			require.Len(t, r.requests(), c.requests, "nothing is asked once the stream is over")
		})
	}
}

func TestCUR06_ARelayThatDoesNotWaitIsAskedRarely(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRelay(t, idle)
		_, _, err := drain(t, r.watch(consumer.Watch{Wait: 5 * time.Minute}))
		require.ErrorIs(t, err, consumer.ErrIdle)
		asked := r.requests()
		for i, a := range asked[1:] {
			if i+2 < len(asked) { // the last one comes when the wait is over
				require.GreaterOrEqual(t, a.at-asked[i].at, time.Second)
			}
		}
		require.InDelta(t, 5*time.Minute, asked[len(asked)-1].at, float64(time.Millisecond))
	})
}

func TestDUP01_ManyCallersShareOneStream(t *testing.T) {
	t.Parallel()
	for _, callers := range []int{2, 20} {
		synctest.Test(t, func(t *testing.T) {
			r := newRelay(t)
			r.script = []answer{stream(snapshot("r1", 2, nth(1), nth(2)), event("r1", 3), cut{}), r.rest("r1", 30)}
			s := r.watch(consumer.Watch{})
			var mu sync.Mutex
			got := map[uint64]int{}
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() {
					for {
						f, err := s.Next(t.Context())
						if err != nil {
							if !errors.Is(err, io.EOF) {
								t.Error(err)
							}
							return
						}
						mu.Lock()
						if f.Type == consumer.Event {
							got[f.Seq]++
						}
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			require.Len(t, got, 28)
			for seq, n := range got {
				require.Equal(t, 1, n, seq)
			}
			require.Len(t, r.requests(), 2, "one connection at a time, one after the other")
		})
	}
}

func TestDUP01_ASnapshotAppliedTwiceIsAppliedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		snap := snapshot("r1", 2, nth(1), nth(2))
		r := newRelay(t, stream(snap, event("r1", 3), snap, snap, event("r1", 3), event("r1", 4), end("r1", 4)))
		v, frames, err := drain(t, r.watch(consumer.Watch{}))
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, "SESSEEZ", types(frames))
		require.Equal(t, upTo(4), string(v.Events()))
	})
}

func TestDuplicateDeltasAreIgnored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRelay(t,
			stream(snapshot("r1", 2, nth(1), nth(2)), event("r1", 2), event("r1", 3), event("r1", 3), event("r1", 1)),
			stream(event("r1", 1), event("r1", 3), event("r1", 4), end("r1", 4)))
		v, frames, err := drain(t, r.watch(consumer.Watch{}))
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, "SEEZ", types(frames))
		require.Equal(t, upTo(4), string(v.Events()))
	})
}

// The application takes two seconds for each frame; meanwhile the connection goes
// and the next one repeats what the first had under way.
func TestDUP03_NothingLateFromAConnectionReplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRelay(t)
		r.script = []answer{
			stream(event("r1", 1), event("r1", 2), time.Second, event("r1", 3), event("r1", 4), cut{}),
			stream(event("r1", 1), event("r1", 2), event("r1", 3), time.Second, cut{}),
			r.rest("r1", 6),
		}
		s := r.watch(consumer.Watch{RunID: "r1", AfterSeq: new(uint64(0))})
		v := &consumer.View{}
		var seqs []uint64
		for {
			f, err := s.Next(t.Context())
			if err != nil {
				require.ErrorIs(t, err, io.EOF)
				break
			}
			time.Sleep(2 * time.Second)
			require.NoError(t, v.Apply(f))
			if f.Type == consumer.Event {
				seqs = append(seqs, f.Seq)
			}
			_, at := s.Cursor()
			require.Equal(t, f.Seq, at)
		}
		require.Equal(t, []uint64{1, 2, 3, 4, 5, 6}, seqs)
		require.Equal(t, upTo(6), string(v.Events()))
	})
}

func TestDUP03_NothingAfterCloseHasReturned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRelay(t, stream(snapshot("r1", 0), event("r1", 1), event("r1", 2), time.Hour))
		s := r.watch(consumer.Watch{})
		_, err := s.Next(t.Context())
		require.NoError(t, err)
		done := make(chan struct{})
		go func() { // while the application is busy with the first frame
			defer close(done)
			require.NoError(t, s.Close())
			require.NoError(t, s.Close())
		}()
		<-done
		_, err = s.Next(t.Context())
		require.ErrorIs(t, err, consumer.ErrClosed)
		run, seq := s.Cursor()
		require.EqualValues(t, "r1", run)
		require.Zero(t, seq)
	})
}

func TestReplacementRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRelay(t, stream(snapshot("r2", 1, nth(1)), event("r2", 2), cut{}), // for an unknown cursor
			stream(snapshot("r3", 1, nth(1)), event("r3", 2), snapshot("r4", 3, upTo(3)), event("r4", 4), end("r4", 4)))
		v, frames, err := drain(t, r.watch(consumer.Watch{RunID: "r1", AfterSeq: new(uint64(7))}))
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, "SESESEZ", types(frames))
		require.Equal(t, upTo(4), string(v.Events()))
		require.EqualValues(t, "r4", v.RunID())
		require.EqualValues(t, "r2", r.requests()[1].RunID)
		require.EqualValues(t, 2, *r.requests()[1].AfterSeq)
	})
}

func TestFramesThatDoNotFollowBreakTheConnection(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]any{
		"a seq left out":           event("r1", 4),
		"an event of another run":  event("r2", 3),
		"an end of another run":    end("r2", 2),
		"an end behind more":       end("r1", 3),
		"synced behind more":       consumer.Frame{Type: consumer.Synced, RunID: "r1", Seq: 3},
		"what is no frame":         "data: {\"type\":\"STREAM_EVENT\",\"run_id\":\"r1\",\"seq\":\"3\",\"event\":{}}\n\n",
		"what is no JSON":          "data: hello\n\n",
		"an event with no payload": "data: {\"type\":\"STREAM_EVENT\",\"run_id\":\"r1\",\"seq\":3}\n\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRelay(t)
			r.script = []answer{stream(snapshot("r1", 2, upTo(2)), f, event("r1", 3), time.Hour), r.rest("r1", 4)}
			v, frames, err := drain(t, r.watch(consumer.Watch{}))
			require.ErrorIs(t, err, io.EOF, name)
			require.Equal(t, "SEEZ", types(frames), name)
			require.Equal(t, upTo(4), string(v.Events()), name)
			require.EqualValues(t, 2, *r.requests()[1].AfterSeq, name)
		})
	}
}
