package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
)

func TestFramesThatAreReadyShareAFlush(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, s := newWireLog(), &script{}
		s.polls = []poll{event(1, "{}"), event(2, "{}"), s.nothing(time.Second), event(3, "{}"), s.nothing(time.Second), event(4, "{}")}
		require.Equal(t, causeEnd, play(t, w, protocol1{}, s, nil))
		require.Equal(t, []string{"0s :", "0s r:1 r:2", "1s r:3", "2s r:4"}, w.flushed)
	})
}

// PROXY-02: also while a snapshot is being built or a page is being read, and what
// is ready does not wait for what is not.
func TestPROXY02_SlowReadsAreFilled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, s := newWireLog(), &script{}
		s.polls = []poll{slow(25*time.Second, event(1, "{}")), slow(12*time.Second, event(2, "{}"))}
		require.Equal(t, causeEnd, play(t, w, protocol1{}, s, nil))
		require.Equal(t, []string{"0s :", "10s :", "20s :", "25.02s r:1", "35.02s :", "37s r:2"}, w.flushed)
		require.False(t, w.due().IsZero(), "the end of the response has to get out, too")
	})
}

func TestIdleStreamHasNoDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, s := newWireLog(), &script{}
		s.polls = []poll{event(1, "{}"), s.nothing(time.Hour + 5*time.Second), func(context.Context) (consumer.Frame, bool, error) {
			require.Zero(t, w.due())
			return consumer.Frame{}, false, io.EOF
		}}
		require.Equal(t, causeEnd, play(t, w, protocol1{}, s, nil))
		require.Len(t, w.flushed, 2+360, "every 10 s of an hour")
	})
}

// The broker is asked again until it answers, but not for ever.
func TestBrokerOutage(t *testing.T) {
	t.Parallel()
	away := fmt.Errorf("%w: no answer", consumer.ErrBrokerUnavailable)
	synctest.Test(t, func(t *testing.T) {
		w, s := newWireLog(), &script{}
		for range 20 {
			s.polls = append(s.polls, fails(away))
		}
		s.polls = append(s.polls, event(1, "{}"))
		require.Equal(t, causeEnd, play(t, w, protocol1{}, s, nil))
		require.Contains(t, w.body.String(), "id: r:1")
	})
	synctest.Test(t, func(t *testing.T) {
		w, s := newWireLog(), &script{}
		for range 200 {
			s.polls = append(s.polls, fails(away))
		}
		require.Equal(t, causeBroker, play(t, w, protocol1{}, s, nil))
		require.Greater(t, time.Since(w.from), time.Minute)
		require.Less(t, time.Since(w.from), 65*time.Second)
		require.Contains(t, w.body.String(), "retry: ")
	})
}

func TestStreamsAreToldToLeaveBetweenFrames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, s := newWireLog(), &script{}
		leave := make(chan cause, 1)
		s.polls = []poll{event(1, "{}"), s.nothing(time.Hour)}
		time.AfterFunc(time.Minute, func() { leave <- causeAge })
		require.Equal(t, causeAge, play(t, w, protocol1{}, s, leave))
		require.Equal(t, time.Minute, time.Since(w.from))
		require.Contains(t, w.body.String(), "id: r:1")
		require.Regexp(t, `\nretry: \d+\n\n$`, w.body.String())
	})
	synctest.Test(t, func(t *testing.T) { // in the middle of a burst
		w, s := newWireLog(), &script{}
		leave := make(chan cause, 1)
		for i := range uint64(100) {
			if i == 40 {
				leave <- causeDrain
			}
			s.polls = append(s.polls, event(i+1, "{}"))
		}
		require.Equal(t, causeDrain, play(t, w, protocol1{}, s, leave))
		require.Regexp(t, `^:\n\nretry: \d+\n\n$`, w.body.String())
	})
}

// A write has its time, a frame has as many times as it has chunks.
func TestSLOW02_DeadlineIsPerChunk(t *testing.T) {
	t.Parallel()
	large := consumer.Frame{Type: consumer.Snapshot, RunID: "r", Seq: 1, Events: []byte(`{"v":"` + strings.Repeat("x", 20*chunkSize) + `"}`)}
	synctest.Test(t, func(t *testing.T) {
		w := newWireLog()
		w.perWrite.Store(int64(9 * time.Second))
		require.Equal(t, causeEnd, play(t, w, protocol1{}, &script{polls: []poll{gives(large)}}, nil))
		require.Greater(t, time.Since(w.from), 20*9*time.Second)
		require.True(t, bytes.HasSuffix(w.body.Bytes(), large.AppendSSE(nil)))
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWireLog()
		w.perWrite.Store(int64(11 * time.Second))
		require.Equal(t, causeStalled, play(t, w, protocol1{}, &script{polls: []poll{gives(large)}}, nil))
		require.Equal(t, 10*time.Second, time.Since(w.from), "at the first write")
	})
	synctest.Test(t, func(t *testing.T) { // the keep-alive finds out, and the stream that waits is told
		w, s := newWireLog(), &script{}
		s.polls = []poll{func(ctx context.Context) (consumer.Frame, bool, error) {
			w.perWrite.Store(int64(time.Hour))
			<-ctx.Done()
			return consumer.Frame{}, false, ctx.Err()
		}}
		require.Equal(t, causeStalled, play(t, w, protocol1{}, s, nil))
		require.Equal(t, 20*time.Second, time.Since(w.from))
	})
}

func TestLegacyGapIsAnError(t *testing.T) {
	t.Parallel()
	snap := gives(consumer.Frame{Type: consumer.Snapshot, RunID: "r", Seq: 1, Events: []byte(`{"type":"RUN_STARTED"}`)})
	empty := gives(consumer.Frame{Type: consumer.Snapshot, RunID: "r"})
	synctest.Test(t, func(t *testing.T) {
		w := newWireLog()
		require.Equal(t, causeGap, play(t, w, &legacy{}, &script{polls: []poll{snap, event(2, `{"type":"RAW"}`), snap}}, nil))
		require.Contains(t, w.body.String(), `"code":"stream_gap"`)
		require.Equal(t, 1, strings.Count(w.body.String(), "RUN_STARTED"))
	})
	synctest.Test(t, func(t *testing.T) { // nothing was sent yet: the second one is the first
		w := newWireLog()
		require.Equal(t, causeEnd, play(t, w, &legacy{}, &script{polls: []poll{empty, snap}}, nil))
		require.NotContains(t, w.body.String(), "RUN_ERROR")
	})
	synctest.Test(t, func(t *testing.T) { // the client has had its terminal event
		w := newWireLog()
		require.Equal(t, causeGap, play(t, w, &legacy{}, &script{polls: []poll{event(1, `{"type":"RUN_FINISHED"}`), snap}}, nil))
		require.NotContains(t, w.body.String(), "RUN_ERROR")
	})
}

func TestCauses(t *testing.T) {
	t.Parallel()
	for want, err := range map[cause]error{
		causeEnd:     nil,
		causeAge:     leaving(causeAge),
		causeDrain:   errDraining,
		causeClient:  context.Canceled,
		causeStalled: wrapWrite(os.ErrDeadlineExceeded),
		causeGone:    fmt.Errorf("x: %w", consumer.ErrGone),
		causeBroker:  fmt.Errorf("x: %w", consumer.ErrBrokerUnavailable),
		causeGap:     errLegacyGap,
		causeError:   errors.New("anything else"),
	} {
		require.Equal(t, want, causeOf(err))
		require.Contains(t, closeCauses, string(want))
	}
	require.Equal(t, causeClient, causeOf(wrapWrite(io.ErrClosedPipe)))
	for _, c := range snapshotCauses {
		require.Equal(t, c, oneOf(c, snapshotCauses))
	}
	require.Equal(t, other, oneOf("a user's string", snapshotCauses))
}
