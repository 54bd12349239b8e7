package active_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rejoin/rejoin/internal/active"
	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/proxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds waits that are expected to be short.
const patience = 2 * time.Minute

// fabric is one test's broker with a store on it, and a feed that reaches the broker
// through a line that can be cut.
type fabric struct {
	*testing.T
	store *runs.Store
	line  *proxy.Proxy
	far   *runs.Store // the feed's
	feed  *active.Feed
}

func newFabric(t *testing.T, change func(*active.Config)) *fabric {
	t.Helper()
	server, err := natsd.Start(natsd.Config{Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(server.Shutdown)
	f := &fabric{T: t}
	f.line, err = proxy.Start(strings.TrimPrefix(server.ClientURL(), "nats://"))
	require.NoError(t, err)
	t.Cleanup(f.line.Close)
	f.store = f.open(server.ClientURL(), true)
	f.far = f.open("nats://"+f.line.Addr(), false)
	cfg := active.Config{Store: f.far}
	if change != nil {
		change(&cfg)
	}
	f.feed = active.New(cfg)
	t.Cleanup(f.feed.Close)
	return f
}

func (f *fabric) open(url string, provision bool) *runs.Store {
	f.Helper()
	nc, err := nats.Connect(url, nats.ReconnectWait(10*time.Millisecond), nats.MaxReconnects(-1))
	require.NoError(f, err)
	f.Cleanup(nc.Close)
	s, err := runs.Open(f.Context(), nc, runs.Config{Partitions: 1, Provision: provision})
	require.NoError(f, err)
	f.Cleanup(s.Close)
	return s
}

// silence keeps the broker from republishing anything: all is missed, and only what is read
// is known.
func (f *fabric) silence() {
	f.Helper()
	cfg := subjects.BucketConfig(1)
	cfg.RePublish = nil
	_, err := f.store.JetStream().UpdateStream(f.Context(), cfg)
	require.NoError(f, err)
}

// start makes a run the newest of a chat.
func (f *fabric) start(realm subjects.Realm, chat string) *runs.Entry {
	f.Helper()
	st, err := f.store.StartRun(f.Context(), runs.StartRequest{OnActive: runs.Supersede,
		Entry: runs.Entry{Realm: realm, ChatID: chat, State: runs.StateRunning}})
	require.NoError(f, err)
	return st.Entry
}

func (f *fabric) alter(e *runs.Entry, change func(*runs.Entry)) {
	f.Helper()
	_, err := f.store.ChangeEntry(f.Context(), e.RunID, func(e *runs.Entry) error {
		change(e)
		return nil
	})
	require.NoError(f, err)
}

func (f *fabric) end(e *runs.Entry) {
	f.Helper()
	_, err := f.store.EndRun(f.Context(), e.RunID, saved)
	require.NoError(f, err)
}

var saved = subjects.End{Persisted: true, Reason: subjects.ReasonDone}

// subscription is one whose changes are wanted one by one.
type subscription struct {
	*active.Subscription
	f       *fabric
	pending []*active.Run
}

func (f *fabric) subscribe(realm subjects.Realm) *subscription {
	f.Helper()
	s, err := f.feed.Subscribe(f.Context(), realm)
	require.NoError(f, err)
	f.Cleanup(s.Close)
	return &subscription{Subscription: s, f: f}
}

// next waits for the next change; the error is Take's.
func (s *subscription) next() (*active.Run, error) {
	s.f.Helper()
	over := time.After(patience)
	for len(s.pending) == 0 {
		changed := s.Changed()
		var err error
		if s.pending, err = s.Take(100); err != nil {
			return nil, err
		}
		if len(s.pending) > 0 {
			break
		}
		select {
		case <-changed:
		case <-over:
			s.f.Fatal("no change came")
		}
	}
	r := s.pending[0]
	s.pending = s.pending[1:]
	return r, nil
}

// want wants the next change to be of that run and to that state.
func (s *subscription) want(e *runs.Entry, state runs.State) *active.Run {
	s.f.Helper()
	r, err := s.next()
	require.NoError(s.f, err)
	require.Equal(s.f, e.RunID, r.RunID)
	require.Equal(s.f, state, r.State)
	require.Equal(s.f, e.ChatID, r.ChatID)
	return r
}

// shows wants exactly those runs to be what the subscription began with.
func (s *subscription) shows(want ...*runs.Entry) {
	s.f.Helper()
	require.Len(s.f, s.Runs, len(want))
	for i, e := range want {
		require.Equal(s.f, e.RunID, s.Runs[i].RunID)
	}
}

// consumers counts what readers have made on the broker.
func (f *fabric) consumers() int {
	f.Helper()
	st, err := f.store.JetStream().Stream(context.Background(), subjects.BucketStream)
	require.NoError(f, err)
	return st.CachedInfo().State.Consumers
}
