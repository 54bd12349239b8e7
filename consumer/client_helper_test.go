package consumer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
)

// The client's tests run net/http on both ends over pipes in memory, so that a
// synctest bubble can hold all of it and minutes of waiting take no time.

// pipes is a net.Listener whose connections are pipes.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// relay is a scripted one: the n-th request meets the n-th answer, the last
// answer meets all that follow.
type relay struct {
	t       testing.TB
	client  *consumer.Client
	mu      sync.Mutex
	script  []answer
	asked   []request
	started time.Time
}

type answer func(w http.ResponseWriter, r *http.Request)

// request is what a client asked for, and when.
type request struct {
	ChatID   string         `json:"chat_id"`
	Protocol int            `json:"protocol"`
	WaitMS   int64          `json:"wait_ms"`
	RunID    subjects.RunID `json:"run_id"`
	AfterSeq *uint64        `json:"after_seq"`
	Synced   bool           `json:"synced"`

	auth string
	at   time.Duration // since the test began
}

func newRelay(t testing.TB, script ...answer) *relay {
	r := &relay{t: t, script: script, started: time.Now()}
	l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	srv := &http.Server{Handler: r}
	var serving sync.WaitGroup
	serving.Go(func() { _ = srv.Serve(l) })
	transport := &http.Transport{DialContext: l.dial}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		require.NoError(t, srv.Close())
		serving.Wait()
	})
	r.client = &consumer.Client{BaseURL: "http://relay.test/at", HTTP: &http.Client{Transport: transport}}
	return r
}

func (r *relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	asked := request{auth: req.Header.Get("Authorization"), at: time.Since(r.started)}
	if req.Method == http.MethodPost {
		if err := json.NewDecoder(req.Body).Decode(&asked); err != nil || req.URL.Path != "/at/chat/live" {
			http.Error(w, fmt.Sprint("bad request: ", req.URL, err), http.StatusBadRequest)
			return
		}
		// The server sees that a client has gone only once the body is used up.
		_, _ = io.Copy(io.Discard, req.Body)
	}
	r.mu.Lock()
	r.asked = append(r.asked, asked)
	next := r.script[min(len(r.asked), len(r.script))-1]
	r.mu.Unlock()
	next(w, req)
}

func (r *relay) requests() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked
}

// timeless are the requests without when they came.
func timeless(asked []request) []request {
	out := slices.Clone(asked)
	for i := range out {
		out[i].at = 0
	}
	return out
}

// watch watches chat c1 to the end of the test.
func (r *relay) watch(w consumer.Watch) *consumer.Stream {
	w.ChatID = "c1"
	s := r.client.Watch(context.Background(), w)
	r.t.Cleanup(func() { _ = s.Close() })
	return s
}

// stream answers 200 with the parts given, each flushed: frames, text, a pause
// (time.Duration), or cut{}, which breaks the connection. Then it closes in order.
func stream(parts ...any) answer {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		rc := http.NewResponseController(w)
		_ = rc.Flush()
		for _, part := range parts {
			switch p := part.(type) {
			case consumer.Frame:
				_, _ = w.Write(p.AppendSSE(nil))
			case string:
				_, _ = io.WriteString(w, p)
			case []byte:
				_, _ = w.Write(p)
			case time.Duration:
				select {
				case <-time.After(p):
				case <-r.Context().Done():
					return
				}
			case cut:
				panic(http.ErrAbortHandler)
			}
			_ = rc.Flush()
		}
	}
}

type cut struct{}

// status answers with a code, and headers as pairs.
func status(code int, headers ...string) answer {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
	}
}

// idle answers 204 after the wait asked for, as a relay does.
func idle(w http.ResponseWriter, r *http.Request) { status(http.StatusNoContent)(w, r) }

func snapshot(run subjects.RunID, seq uint64, events ...string) consumer.Frame {
	return consumer.Frame{Type: consumer.Snapshot, RunID: run, Seq: seq, Events: []byte(joined(events...))}
}

func event(run subjects.RunID, seq uint64) consumer.Frame {
	return consumer.Frame{Type: consumer.Event, RunID: run, Seq: seq, Event: []byte(nth(seq))}
}

func end(run subjects.RunID, seq uint64) consumer.Frame {
	return consumer.Frame{Type: consumer.End, RunID: run, Seq: seq, End: subjects.End{Persisted: true, Reason: subjects.ReasonDone}}
}

// nth is the event that has that seq in every test.
func nth(seq uint64) string { return fmt.Sprintf(`{"type":"RAW","event":"é%d"}`, seq) }

// upTo are the first n events.
func upTo(n uint64) string {
	var events []string
	for seq := range n {
		events = append(events, nth(seq+1))
	}
	return joined(events...)
}

func joined(events ...string) string {
	var b bytes.Buffer
	for i, e := range events {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(e)
	}
	return b.String()
}

// drain reads a stream to its last word, checking on the way that every frame
// follows what came before and that the cursor never moves back within a run.
func drain(t testing.TB, s *consumer.Stream) (*consumer.View, []consumer.Frame, error) {
	t.Helper()
	v := &consumer.View{}
	return v, drainInto(t, s, v), lastError(t, s)
}

func drainInto(t testing.TB, s *consumer.Stream, v *consumer.View) []consumer.Frame {
	t.Helper()
	var frames []consumer.Frame
	for {
		f, err := s.Next(t.Context())
		if err != nil {
			return frames
		}
		held, seq := v.RunID(), v.Seq()
		require.NoError(t, v.Apply(f))
		if held == v.RunID() && f.Type != consumer.Snapshot {
			require.GreaterOrEqual(t, v.Seq(), seq)
		}
		run, at := s.Cursor()
		require.Equal(t, v.RunID(), run)
		require.Equal(t, v.Seq(), at)
		frames = append(frames, f)
	}
}

// lastError is the error that a stream that is over gives, always the same.
func lastError(t testing.TB, s *consumer.Stream) error {
	t.Helper()
	_, err := s.Next(t.Context())
	require.Error(t, err)
	_, again := s.Next(t.Context())
	require.Equal(t, err, again)
	return err
}

// types says of which kind the frames are, a letter each.
func types(frames []consumer.Frame) string {
	var b []byte
	for _, f := range frames {
		b = append(b, "?SEYZ"[f.Type])
	}
	return string(b)
}

// rest answers as a good relay does for a run of n events that has ended: what
// is missing after the cursor, or a snapshot where there is none.
func (r *relay) rest(run subjects.RunID, n uint64) answer {
	return func(w http.ResponseWriter, req *http.Request) {
		asked := r.requests()
		after := asked[len(asked)-1].AfterSeq
		if after == nil {
			stream(snapshot(run, n, upTo(n)), end(run, n))(w, req)
			return
		}
		parts := []any{}
		for seq := *after + 1; seq <= n; seq++ {
			parts = append(parts, event(run, seq))
		}
		stream(append(parts, end(run, n))...)(w, req)
	}
}
