package turns_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/subjects"
)

// patience bounds waits that are expected to be short.
const patience = 2 * time.Minute

// fabric is one test's broker, with a queue on it.
type fabric struct {
	*testing.T
	server *natsd.Server
	store  *runs.Store
	queue  *turns.Queue
	js     jetstream.JetStream
}

func newFabric(t *testing.T, cfg natsd.Config) *fabric {
	t.Helper()
	server, err := natsd.Start(cfg)
	require.NoError(t, err)
	t.Cleanup(server.Shutdown)
	f := &fabric{T: t, server: server}
	f.store = f.open(runs.Config{Partitions: 2, Provision: true})
	f.queue = turns.New(f.store, turns.Config{})
	f.js, err = jetstream.New(f.store.Conn())
	require.NoError(t, err)
	return f
}

// open connects another store.
func (f *fabric) open(cfg runs.Config) *runs.Store {
	f.Helper()
	nc, err := f.server.Connect(nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	require.NoError(f, err)
	f.Cleanup(nc.Close)
	s, err := runs.Open(f.Context(), nc, cfg)
	require.NoError(f, err)
	f.Cleanup(s.Close)
	return s
}

// another is the queue as another process sees it.
func (f *fabric) another() *turns.Queue {
	f.Helper()
	return turns.New(f.open(runs.Config{}), turns.Config{})
}

func message(chat string, on runs.OnActive) turns.SendRequest {
	return turns.SendRequest{ChatID: chat, Input: json.RawMessage(`{"text":"hi"}`), OnActive: on}
}

func (f *fabric) send(chat string, on runs.OnActive) turns.Sent {
	f.Helper()
	sent, err := f.queue.Send(f.Context(), message(chat, on))
	require.NoError(f, err)
	return sent
}

var errBegun = errors.New("begun before")

// begin does to a run what a worker's process does first.
func (f *fabric) begin(id subjects.RunID, steerable bool) error {
	f.Helper()
	_, err := f.store.ChangeEntry(f.Context(), id, func(e *runs.Entry) error {
		if e.State != runs.StateQueued || e.End != nil {
			return errBegun
		}
		e.State, e.Producer, e.Steerable = runs.StateRunning, "somebody", steerable
		return nil
	})
	return err
}

// end ends a run as its own producer does.
func (f *fabric) end(id subjects.RunID) {
	f.Helper()
	_, err := f.store.EndRun(f.Context(), id, subjects.End{Persisted: true, Reason: subjects.ReasonDone})
	require.NoError(f, err)
}

func (f *fabric) entry(id subjects.RunID) *runs.Entry {
	f.Helper()
	e, err := f.store.Entry(f.Context(), id)
	require.NoError(f, err)
	return e
}

func (f *fabric) pointer(chat string) *runs.Pointer {
	f.Helper()
	p, err := f.store.Pointer(f.Context(), "", chat)
	require.NoError(f, err)
	return p
}

// waiting lists the runs whose turns are in the work queue, in no order.
func (f *fabric) waiting() (ids []subjects.RunID) {
	f.Helper()
	s, err := f.js.Stream(f.Context(), subjects.TurnsStream)
	require.NoError(f, err)
	info, err := s.Info(f.Context(), jetstream.WithSubjectFilter(">"))
	require.NoError(f, err)
	for subject, n := range info.State.Subjects {
		require.EqualValues(f, 1, n)
		id, err := subjects.RunOfSubject(subject)
		require.NoError(f, err)
		ids = append(ids, id)
	}
	return ids
}

// keys counts what the bucket holds of a run besides its entry, and what was sent to it.
func (f *fabric) keys(id subjects.RunID) (n int) {
	f.Helper()
	for stream, filters := range map[string][]string{
		subjects.BucketStream:  {subjects.SegmentsSubject(id), subjects.KeySubject(subjects.TurnKey(id)), subjects.TurnPartsSubject(id)},
		subjects.ControlStream: {subjects.ControlsSubject(id)},
	} {
		s, err := f.js.Stream(f.Context(), stream)
		require.NoError(f, err)
		for _, filter := range filters {
			info, err := s.Info(f.Context(), jetstream.WithSubjectFilter(filter))
			require.NoError(f, err)
			n += len(info.State.Subjects)
		}
	}
	return n
}

func (f *fabric) sweep(j *runs.Janitor) {
	f.Helper()
	require.NoError(f, j.Sweep(f.Context()))
}

// sweepUntil sweeps until done says so.
func (f *fabric) sweepUntil(j *runs.Janitor, done func() bool) {
	f.Helper()
	for deadline := time.Now().Add(patience); !done(); {
		require.True(f, time.Now().Before(deadline), "the janitor does not get there")
		f.sweep(j)
		time.Sleep(5 * time.Millisecond) // what a janitor judges by is time that passes between its sweeps
	}
}

// atOnce calls f with 0 … n-1 at once and waits.
func atOnce(n int, f func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}

func text(i int) json.RawMessage { return fmt.Appendf(nil, `{"text":"%d"}`, i) }
