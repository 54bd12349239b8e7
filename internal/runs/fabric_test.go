package runs_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds waits that are expected to be short.
const patience = 2 * time.Minute

// fabric is one test's broker with a store on it.
type fabric struct {
	*testing.T
	server *natsd.Server
	store  *runs.Store
	js     jetstream.JetStream
}

func newFabric(t *testing.T, cfg natsd.Config) *fabric {
	t.Helper()
	server, err := natsd.Start(cfg)
	require.NoError(t, err)
	t.Cleanup(server.Shutdown)
	f := &fabric{T: t, server: server}
	f.store = f.open(runs.Config{Partitions: 2, Provision: true})
	f.js, err = jetstream.New(f.store.Conn())
	require.NoError(t, err)
	return f
}

// open connects another store.
func (f *fabric) open(cfg runs.Config) *runs.Store {
	f.Helper()
	nc, err := f.server.Connect()
	require.NoError(f, err)
	f.Cleanup(nc.Close)
	s, err := runs.Open(f.Context(), nc, cfg)
	require.NoError(f, err)
	f.Cleanup(s.Close)
	return s
}

// start makes a run as a producer does; gen is its place in the chat.
func (f *fabric) start(chat string, gen uint64, producer string) *runs.Entry {
	f.Helper()
	e := f.unpointed(chat, gen, producer)
	p, err := f.store.Pointer(f.Context(), "", chat)
	require.NoError(f, err)
	p.Advance(e.RunID, gen, "")
	require.NoError(f, f.store.SetPointer(f.Context(), p))
	return e
}

// unpointed makes a run that its chat's pointer does not name.
func (f *fabric) unpointed(chat string, gen uint64, producer string) *runs.Entry {
	f.Helper()
	e := &runs.Entry{RunID: f.store.NewRunID(), ChatID: chat, Generation: gen, Owner: "o",
		State: runs.StateRunning, Producer: producer, Writer: nuid.Next()}
	r := subjects.Record{Kind: subjects.KindStart, Writer: e.Writer}
	seq, err := f.store.Append(f.Context(), e.RunID, &r, 0)
	require.NoError(f, err)
	e.FirstStreamSeq = seq
	require.NoError(f, f.store.CreateEntry(f.Context(), e))
	return e
}

// publish appends one event behind whatever the log ends with.
func (f *fabric) publish(e *runs.Entry) {
	f.Helper()
	last, err := f.store.Last(f.Context(), e.RunID)
	require.NoError(f, err)
	r := event(last.Last+1, e.Writer)
	_, err = f.store.Append(f.Context(), e.RunID, &r, last.StreamSeq)
	require.NoError(f, err)
}

func event(seq uint64, writer string) subjects.Record {
	return subjects.Record{Kind: subjects.KindEvents, Last: seq, Count: 1, Writer: writer, Body: []byte(`{"type":"RAW"}`)}
}

// end ends a run as its own producer does.
func (f *fabric) end(e *runs.Entry) {
	f.Helper()
	_, err := f.store.EndRun(f.Context(), e.RunID, subjects.End{Persisted: true, Reason: subjects.ReasonDone})
	require.NoError(f, err)
}

func (f *fabric) entry(id subjects.RunID) *runs.Entry {
	f.Helper()
	e, err := f.store.Entry(f.Context(), id)
	require.NoError(f, err)
	return e
}

// data counts what the streams hold of a run, entry and pointer aside.
func (f *fabric) data(id subjects.RunID) int {
	f.Helper()
	n := 0
	for stream, subject := range map[string]string{
		subjects.RunsStream(id.Partition()): subjects.RunSubject(id),
		subjects.BucketStream:               subjects.SegmentsSubject(id),
	} {
		s, err := f.js.Stream(f.Context(), stream)
		require.NoError(f, err)
		info, err := s.Info(f.Context(), jetstream.WithSubjectFilter(subject))
		require.NoError(f, err)
		n += len(info.State.Subjects)
	}
	return n
}
