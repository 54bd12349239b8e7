package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
)

// wireLog is a response writer that notes what is done to it, and when.
type wireLog struct {
	header   http.Header
	body     bytes.Buffer
	from     time.Time
	deadline time.Time
	flushed  []string // "<time since from> <what the flush brought>"
	pending  int
	perWrite time.Duration // how long the observer takes for one write
}

func newWireLog() *wireLog { return &wireLog{header: http.Header{}, from: time.Now()} }

func (l *wireLog) Header() http.Header { return l.header }
func (l *wireLog) WriteHeader(int)     {}

func (l *wireLog) Write(b []byte) (int, error) {
	if l.perWrite > 0 {
		time.Sleep(min(l.perWrite, time.Until(l.deadline)))
		if !time.Now().Before(l.deadline) {
			return 0, fmt.Errorf("write: %w", os.ErrDeadlineExceeded)
		}
	}
	l.pending += len(b)
	return l.body.Write(b)
}

func (l *wireLog) FlushError() error {
	brought := l.body.Bytes()[l.body.Len()-l.pending:]
	l.pending = 0
	l.flushed = append(l.flushed, fmt.Sprintf("%v %s", time.Since(l.from), short(brought)))
	return nil
}

func (l *wireLog) SetWriteDeadline(t time.Time) error {
	l.deadline = t
	return nil
}

// short names the messages of a piece of a stream.
func short(b []byte) string {
	var names []string
	for m := range strings.SplitSeq(strings.TrimSuffix(string(b), "\n\n"), "\n\n") {
		id, _, _ := strings.Cut(m, "\n")
		names = append(names, strings.TrimPrefix(id, "id: "))
	}
	return strings.Join(names, " ")
}

// script is a source whose polls are given; nil waits for a minute.
type script struct {
	polls []func(context.Context) (consumer.Frame, bool, error)
	wake  chan struct{}
}

func (s *script) Changed() <-chan struct{} { return s.wake }

func (s *script) Poll(ctx context.Context) (consumer.Frame, bool, error) {
	if len(s.polls) == 0 {
		return consumer.Frame{}, false, io.EOF
	}
	next := s.polls[0]
	s.polls = s.polls[1:]
	return next(ctx)
}

type poll = func(context.Context) (consumer.Frame, bool, error)

func event(seq uint64, raw string) poll {
	return gives(consumer.Frame{Type: consumer.Event, RunID: "r", Seq: seq, Event: []byte(raw)})
}

func gives(f consumer.Frame) poll {
	return func(context.Context) (consumer.Frame, bool, error) { return f, true, nil }
}

func fails(err error) poll {
	return func(context.Context) (consumer.Frame, bool, error) { return consumer.Frame{}, false, err }
}

// slow takes its time before it does what then does.
func slow(d time.Duration, then poll) poll {
	return func(ctx context.Context) (consumer.Frame, bool, error) {
		select {
		case <-time.After(d):
			return then(ctx)
		case <-ctx.Done():
			return consumer.Frame{}, false, ctx.Err()
		}
	}
}

// nothing says that there is nothing now, and something after d.
func (s *script) nothing(d time.Duration) poll {
	return func(context.Context) (consumer.Frame, bool, error) {
		s.wake = make(chan struct{})
		time.AfterFunc(d, func() { close(s.wake) })
		return consumer.Frame{}, false, nil
	}
}

// play serves a script to a writer and returns why it ended.
func play(t *testing.T, w *wireLog, on wire, s *script, leave <-chan cause) cause {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	out := newSink(w, 10*time.Second, 10*time.Second, cancel)
	st := &stream{wire: on, sink: out, leave: leave, brokerPatience: time.Minute, count: func(consumer.FrameType) {}}
	err := out.comment()
	if err == nil {
		err = st.serve(ctx, s)
	}
	return st.finish(err)
}

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
		require.False(t, w.deadline.IsZero(), "the end of the response has to get out, too")
	})
}

func TestIdleStreamHasNoDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, s := newWireLog(), &script{}
		s.polls = []poll{event(1, "{}"), s.nothing(time.Hour + 5*time.Second), func(context.Context) (consumer.Frame, bool, error) {
			require.Zero(t, w.deadline)
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
		w.perWrite = 9 * time.Second
		require.Equal(t, causeEnd, play(t, w, protocol1{}, &script{polls: []poll{gives(large)}}, nil))
		require.Greater(t, time.Since(w.from), 20*9*time.Second)
		require.True(t, bytes.HasSuffix(w.body.Bytes(), large.AppendSSE(nil)))
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWireLog()
		w.perWrite = 11 * time.Second
		require.Equal(t, causeStalled, play(t, w, protocol1{}, &script{polls: []poll{gives(large)}}, nil))
		require.Equal(t, 10*time.Second, time.Since(w.from), "at the first write")
	})
	synctest.Test(t, func(t *testing.T) { // the keep-alive finds out, and the stream that waits is told
		w, s := newWireLog(), &script{}
		s.polls = []poll{func(ctx context.Context) (consumer.Frame, bool, error) {
			w.perWrite = time.Hour
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
		require.Equal(t, causeEnd, play(t, w, &legacy{}, &script{polls: []poll{event(1, `{"type":"RUN_FINISHED"}`), snap}}, nil))
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
	for _, r := range []subjects.Reason{subjects.ReasonAbandoned, subjects.ReasonSuperseded} {
		require.Equal(t, string(r), oneOf(string(r), endReasons))
	}
	require.Equal(t, other, oneOf("a user's string", endReasons))
}
