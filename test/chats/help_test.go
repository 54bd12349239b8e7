package chats_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/producer/ingest"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// fabric is a broker, two relays, and a worker played by hand.
type fabric struct {
	*harness.Fabric
	urls     [2]string
	link     *harness.Link
	queue    *turns.Queue
	claimer  *turns.Claimer
	producer *producer.Producer
}

func newFabric(t *testing.T) *fabric {
	t.Helper()
	return newFabricWith(t, ingest.Config{})
}

func newFabricWith(t *testing.T, in ingest.Config) *fabric {
	t.Helper()
	f := &fabric{Fabric: harness.New(t, harness.Config{})}
	for i := range f.urls {
		cfg := harness.RelayConfig{Ingest: in}
		l := f.Connect()
		cfg.Relay.Turns, cfg.Relay.History = turns.New(l.Store, turns.Config{}), history.Open(l.Store)
		f.urls[i] = f.Relay(cfg).URL
	}
	f.link = f.Connect()
	f.queue = turns.New(f.link.Store, turns.Config{})
	f.producer = f.Producer(f.link)
	var err error
	f.claimer, err = f.queue.Workers(f.within())
	require.NoError(t, err)
	return f
}

func (f *fabric) within() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	f.Cleanup(cancel)
	return ctx
}

// begin claims the next turn and begins its run, as a worker does.
func (f *fabric) begin(steerable bool) *producer.Run {
	f.Helper()
	ctx := f.within()
	claim, err := f.claimer.Next(ctx)
	require.NoError(f, err)
	r, err := f.producer.Begin(ctx, claim.RunID, steerable)
	require.NoError(f, err)
	require.NoError(f, claim.Done(ctx))
	return r
}

func (f *fabric) publish(r *producer.Run, events ...string) {
	f.Helper()
	for _, e := range events {
		_, err := r.Publish(f.within(), []byte(e))
		require.NoError(f, err)
	}
	_, err := r.Flush(f.within())
	require.NoError(f, err)
}

func (f *fabric) finish(r *producer.Run, o producer.FinishOptions) {
	f.Helper()
	_, err := r.Finish(f.within(), o)
	require.NoError(f, err)
}

var done = producer.FinishOptions{Persisted: true}

// answer is what a request was answered with.
type answer struct {
	Status  int             `json:"-"`
	Header  http.Header     `json:"-"`
	Body    string          `json:"-"`
	Code    string          `json:"code"`
	RunID   subjects.RunID  `json:"run_id"`
	TurnID  string          `json:"turn_id"`
	State   string          `json:"state"`
	Reason  string          `json:"reason"`
	Outcome json.RawMessage `json:"outcome"`
	Said    any             `json:"status"`
	Open    []struct {
		RequestID string `json:"request_id"`
	} `json:"questions"`
	LastSeq uint64 `json:"last_seq"`
}

// do sends one request to one of the relays. It may be called at once.
func (f *fabric) do(relay int, method, path, body string, header ...string) (a answer) {
	f.Helper()
	c, err := harness.Ask(context.Background(), method, f.urls[relay]+path, body, header...)
	if err != nil {
		f.Errorf("%s %s: %v", method, path, err)
		return a
	}
	if a.Body, err = c.Rest(); err != nil {
		f.Errorf("%s %s: %v", method, path, err)
	}
	if err := json.Unmarshal([]byte(a.Body), &a); err != nil && a.Body != "" {
		f.Errorf("%s %s: %v: %s", method, path, err, a.Body)
	}
	a.Status, a.Header = c.Status, c.Header
	return a
}

func (f *fabric) post(relay int, path, format string, args ...any) answer {
	f.Helper()
	return f.do(relay, http.MethodPost, path, fmt.Sprintf(format, args...))
}

// send wants a message to be taken.
func (f *fabric) send(chat, more string) subjects.RunID {
	f.Helper()
	a := f.post(0, "/chat/send", `{"chat_id":%q,"input":{"text":"hi"}%s}`, chat, more)
	require.Equal(f, http.StatusAccepted, a.Status, a.Body)
	return a.RunID
}

func (f *fabric) stop(relay int, chat string, id subjects.RunID) answer {
	f.Helper()
	return f.post(relay, "/chat/stop", `{"chat_id":%q,"run_id":%q}`, chat, id)
}

func (f *fabric) state(id subjects.RunID) string {
	f.Helper()
	return f.view(id).State
}

func (f *fabric) view(id subjects.RunID) answer {
	f.Helper()
	a := f.do(1, http.MethodGet, "/runs/"+string(id), "")
	require.Equal(f, http.StatusOK, a.Status, a.Body)
	return a
}

// asks waits until so many questions of a run are open: that one is closed shows a moment
// after the event that says so.
func (f *fabric) asks(id subjects.RunID, n int) {
	f.Helper()
	harness.Eventually(f, fmt.Sprint(n, " open questions"), func() bool { return len(f.view(id).Open) == n })
}

// watch reads a run from a relay to its end, or until until says so.
func (f *fabric) watch(relay int, body string, until func(*harness.Seen) bool) *harness.Seen {
	f.Helper()
	c := f.open(relay, http.MethodPost, "/chat/live", body)
	defer c.Close()
	s, err := harness.See(f.within(), c, until)
	require.NoError(f, err)
	return s
}

func (f *fabric) open(relay int, method, path, body string, header ...string) *harness.Conn {
	f.Helper()
	c, err := harness.Ask(f.within(), method, f.urls[relay]+path, body, header...)
	require.NoError(f, err)
	f.Cleanup(c.Close)
	require.Equal(f, http.StatusOK, c.Status)
	return c
}

// message is the next SSE message of a stream of controls.
func message(f *fabric, c *harness.Conn) consumer.Message {
	f.Helper()
	m, err := c.Message()
	require.NoError(f, err)
	return m
}

func closed(f *fabric, c *harness.Conn) {
	f.Helper()
	_, err := c.Message()
	require.True(f, errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF), "%v", err)
}

// text is what the events of a run say, folded or not.
func text(seen *harness.Seen) (all string) {
	for _, e := range seen.Events {
		var d struct{ Delta string }
		_ = json.Unmarshal([]byte(e), &d) // what has none says nothing
		all += d.Delta
	}
	return all
}
