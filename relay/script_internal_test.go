package relay

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rejoin/rejoin/consumer"
)

// wireLog is a response writer that notes what is done to it, and when.
type wireLog struct {
	header   http.Header
	body     bytes.Buffer
	from     time.Time
	mu       sync.Mutex
	deadline time.Time
	flushed  []string // "<time since from> <what the flush brought>"
	pending  int
	perWrite atomic.Int64 // how long the observer takes for one write
}

func newWireLog() *wireLog { return &wireLog{header: http.Header{}, from: time.Now()} }

func (l *wireLog) Header() http.Header { return l.header }
func (l *wireLog) WriteHeader(int)     {}

func (l *wireLog) Write(b []byte) (int, error) {
	if d := time.Duration(l.perWrite.Load()); d > 0 {
		time.Sleep(min(d, time.Until(l.due())))
		if !time.Now().Before(l.due()) {
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
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deadline = t
	return nil
}

// due is the deadline that was set last.
func (l *wireLog) due() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deadline
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
	asks  func() // is told before each poll
}

func (s *script) Changed() <-chan struct{} { return s.wake }

func (s *script) Poll(ctx context.Context) (consumer.Frame, bool, error) {
	if len(s.polls) == 0 {
		return consumer.Frame{}, false, io.EOF
	}
	s.asks()
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
	out := newSink(w, nil, 10*time.Second, 10*time.Second, cancel)
	s.asks = out.lingers
	st := &stream{wire: on, sink: out, leave: leave, brokerPatience: time.Minute}
	err := out.comment()
	if err == nil {
		err = st.serve(ctx, s)
	}
	return st.finish(err)
}
