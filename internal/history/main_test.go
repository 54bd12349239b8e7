package history_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/proxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds waits that are expected to be short.
const patience = 2 * time.Minute

// fabric is one test's broker with a history on it.
type fabric struct {
	*testing.T
	server *natsd.Server
	js     jetstream.JetStream
	*history.History
}

func newFabric(t *testing.T, cfg natsd.Config) *fabric {
	t.Helper()
	server, err := natsd.Start(cfg)
	require.NoError(t, err)
	t.Cleanup(server.Shutdown)
	f := &fabric{T: t, server: server}
	nc, err := server.Connect()
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	f.History, f.js = f.open(nc)
	return f
}

func (f *fabric) open(nc *nats.Conn) (*history.History, jetstream.JetStream) {
	f.Helper()
	store, err := runs.Open(f.Context(), nc, runs.Config{Partitions: 1, Provision: true})
	require.NoError(f, err)
	f.Cleanup(store.Close)
	return history.Open(store), store.JetStream()
}

// distant is a history whose connection goes through a proxy. The broker has to listen.
func (f *fabric) distant() (*history.History, *proxy.Proxy) {
	f.Helper()
	p, err := proxy.Start(strings.TrimPrefix(f.server.ClientURL(), "nats://"))
	require.NoError(f, err)
	f.Cleanup(p.Close)
	nc, err := nats.Connect("nats://"+p.Addr(), nats.ReconnectWait(10*time.Millisecond), nats.MaxReconnects(-1))
	require.NoError(f, err)
	f.Cleanup(nc.Close)
	h, _ := f.open(nc)
	return h, p
}

// messages is how many messages the stream holds.
func (f *fabric) messages() uint64 {
	f.Helper()
	s, err := f.js.Stream(f.Context(), subjects.HistoryStream)
	require.NoError(f, err)
	info, err := s.Info(f.Context())
	require.NoError(f, err)
	return info.State.Msgs
}

// runsOf are the run ids of a chat's newest turns, newest last.
func (f *fabric) runsOf(h *history.History, chat string) []subjects.RunID {
	f.Helper()
	turns, err := h.Read(f.Context(), "", chat, history.MaxLimit)
	require.NoError(f, err)
	ids := make([]subjects.RunID, len(turns))
	for i := range turns {
		ids[i] = turns[i].RunID
	}
	return ids
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

var pad = strings.Repeat("pad ", 1<<10)

// turn is a turn of about that many bytes; no two are alike.
func turn(chat string, size int) history.Turn {
	id := subjects.NewRunID(0)
	var events strings.Builder
	fmt.Fprintf(&events, `[{"type":"RAW","run":%q,"é":"<&>\u2028"},{"type":"RAW","pad":"`, id)
	for i := 0; events.Len() < size; i++ {
		fmt.Fprintf(&events, "%s %d %s", id[len(id)-6:], i, pad[:min(len(pad), size)])
	}
	return history.Turn{ChatID: chat, RunID: id, Kind: "send", Input: []byte(`{"text": "hi <b>", "n": 12345678901234567890}`),
		Events: []byte(events.String() + `"}]`), StartedAt: noon, EndedAt: noon.Add(time.Second), Reason: subjects.ReasonDone}
}

func (f *fabric) append(h *history.History, turns ...history.Turn) []subjects.RunID {
	f.Helper()
	ids := make([]subjects.RunID, len(turns))
	for i, t := range turns {
		require.NoError(f, h.Append(f.Context(), t))
		ids[i] = t.RunID
	}
	return ids
}
