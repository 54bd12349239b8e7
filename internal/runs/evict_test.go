package runs_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// full makes a run with a log and a segment in two parts.
func (f *fabric) full(chat string, gen uint64) *runs.Entry {
	f.Helper()
	e := f.start(chat, gen, "p")
	f.publish(e)
	seg := subjects.Segment{From: 1, To: 1, StreamSeq: e.FirstStreamSeq + 1, Writer: "w"}
	require.NoError(f, f.store.CreateSegment(f.Context(), e.RunID, 0, seg, make([]byte, 3<<19)))
	require.Equal(f, 3, f.data(e.RunID))
	return e
}

func (f *fabric) purge(stream, subject string) {
	f.Helper()
	s, err := f.js.Stream(f.Context(), stream)
	require.NoError(f, err)
	require.NoError(f, s.Purge(f.Context(), jetstream.WithPurgeSubject(subject)))
}

// Whatever an eviction that died had removed, the next sweep removes the rest.
func TestEvictionThatDiedIsFinished(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	kv, err := f.js.KeyValue(t.Context(), subjects.Bucket)
	require.NoError(t, err)
	steps := []func(*runs.Entry){
		func(e *runs.Entry) {
			key, err := subjects.PointerKey("", e.ChatID)
			require.NoError(t, err)
			require.NoError(t, kv.Purge(t.Context(), key))
		},
		func(e *runs.Entry) {
			f.purge(subjects.RunsStream(e.RunID.Partition()), subjects.RunSubject(e.RunID))
		},
		func(e *runs.Entry) { f.purge(subjects.BucketStream, subjects.SegmentsSubject(e.RunID)) },
	}
	var all []*runs.Entry
	for done := range len(steps) + 1 {
		e := f.full(fmt.Sprint("chat", done), 1)
		f.end(e)
		for _, step := range steps[:done] {
			step(e)
		}
		all = append(all, e)
	}
	// The chat has gone on while the eviction was dead: its pointer is another run's.
	next := f.start("chat1", 2, "p")
	f.sweep(runs.NewJanitor(f.store, runs.JanitorConfig{Lease: time.Hour, Retention: time.Nanosecond}))
	for _, e := range all {
		require.Zero(t, f.data(e.RunID), e.ChatID)
		_, err := f.store.Entry(t.Context(), e.RunID)
		require.ErrorIs(t, err, runs.ErrNotFound)
		p, err := f.store.Pointer(t.Context(), "", e.ChatID)
		require.NoError(t, err)
		if e.ChatID == next.ChatID {
			require.Equal(t, next.RunID, p.RunID)
		} else {
			require.Empty(t, p.RunID)
		}
	}
	require.NoError(t, f.store.Evict(t.Context(), all[0].RunID), "what is gone is gone")
	require.NoError(t, f.store.Evict(t.Context(), next.RunID))
	require.True(t, f.entry(next.RunID).Active(), "an active run is left alone")
}

// What a start or an eviction that died left behind goes; what belongs to a run, or to a
// start under way, stays.
func TestStraysAreTidied(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	kept, stray := f.full("kept", 1), f.full("stray", 1)
	kv, err := f.js.KeyValue(t.Context(), subjects.Bucket)
	require.NoError(t, err)
	require.NoError(t, kv.Purge(t.Context(), subjects.RunKey(stray.RunID)))
	starting := f.store.NewRunID()
	first := subjects.Record{Kind: subjects.KindStart, Writer: "w"}
	_, err = f.store.Append(t.Context(), starting, &first, 0)
	require.NoError(t, err)

	j := runs.NewJanitor(f.store, runs.JanitorConfig{Lease: time.Hour, Tidy: time.Nanosecond})
	f.sweep(j)
	require.Equal(t, 3, f.data(stray.RunID), "one look is not enough")
	require.Equal(t, 1, f.data(starting))
	require.NoError(t, f.store.CreateEntry(t.Context(), &runs.Entry{RunID: starting, ChatID: "starting", Generation: 1}))
	f.sweep(j)
	require.Zero(t, f.data(stray.RunID))
	require.Equal(t, 3, f.data(kept.RunID))
	require.Equal(t, 1, f.data(starting))

	// A janitor looks again only after the time it is told to wait.
	again := f.full("again", 1)
	require.NoError(t, kv.Purge(t.Context(), subjects.RunKey(again.RunID)))
	slow := runs.NewJanitor(f.store, runs.JanitorConfig{Lease: time.Hour, Tidy: time.Hour})
	for range 3 {
		f.sweep(slow)
	}
	require.Equal(t, 3, f.data(again.RunID))
}

// An eviction does not wait for a log whose whole stream is gone.
func TestEvictionWithoutAStream(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	e := &runs.Entry{RunID: subjects.NewRunID(7), ChatID: "c", End: &subjects.End{}}
	require.NoError(t, f.store.CreateEntry(t.Context(), e))
	require.NoError(t, f.store.Evict(t.Context(), e.RunID))
	_, err := f.store.Entry(t.Context(), e.RunID)
	require.ErrorIs(t, err, runs.ErrNotFound)
}

// A discarded start leaves nothing, whatever of it was there.
func TestDiscardedStartLeavesNothing(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	e := f.unpointed("c", 1, "p")
	require.NoError(t, f.store.Discard(t.Context(), e.RunID))
	require.Zero(t, f.data(e.RunID))
	_, err := f.store.Entry(t.Context(), e.RunID)
	require.ErrorIs(t, err, runs.ErrNotFound)
	require.NoError(t, f.store.Discard(t.Context(), e.RunID))
	require.NoError(t, f.store.Discard(t.Context(), f.store.NewRunID()))
}

// A sweep sees every entry, in however many pages they come.
func TestSweepSeesAllEntries(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	const n = 600
	for i := range n {
		e := &runs.Entry{RunID: f.store.NewRunID(), ChatID: fmt.Sprint(i), Owner: fmt.Sprint(i), End: &subjects.End{}}
		if i%2 == 0 {
			e.Kind = string(make([]byte, 4<<10)) // not as many to a page
		}
		require.NoError(t, f.store.CreateEntry(t.Context(), e))
	}
	var evicted int
	f.sweep(runs.NewJanitor(f.store, runs.JanitorConfig{Retention: time.Nanosecond,
		Metrics: runs.JanitorMetrics{Evicted: func() { evicted++ }}}))
	require.Equal(t, n, evicted)
}

// A pointer that was read as removed can be set until its marker is gone, and then when
// it is read anew.
func TestMarkerThatExpires(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	key, err := subjects.PointerKey("", "c")
	require.NoError(t, err)
	_, err = f.js.PublishMsg(t.Context(), &nats.Msg{Subject: subjects.KeySubject(key), Header: nats.Header{
		"KV-Operation": {"PURGE"}, jetstream.MsgRollup: {jetstream.MsgRollupSubject}, jetstream.MsgTTLHeader: {"1s"}}})
	require.NoError(t, err)
	removed, err := f.store.Pointer(t.Context(), "", "c")
	require.NoError(t, err)
	require.Empty(t, removed.RunID)
	s, err := f.js.Stream(t.Context(), subjects.BucketStream)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		m, err := s.GetLastMsgForSubject(t.Context(), subjects.KeySubject(key))
		return err != nil || m.Header.Get("KV-Operation") == ""
	}, patience, 20*time.Millisecond)
	removed.Advance(f.store.NewRunID(), 1, "")
	require.ErrorIs(t, f.store.SetPointer(t.Context(), removed), runs.ErrConflict)
	f.start("c", 1, "p")
}
