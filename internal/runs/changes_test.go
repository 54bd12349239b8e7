package runs_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// next takes changes until want accepts one.
func next(t *testing.T, l *runs.Listener, want func(runs.Change) bool) runs.Change {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		c, err := l.Next(ctx)
		require.NoError(t, err)
		if want(c) {
			return c
		}
	}
}

func TestChangesAreHeardInTheirOrder(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	l, err := f.open(runs.Config{}).Listen(64)
	require.NoError(t, err)
	defer l.Close()
	e := f.start("a.b", 1, "p")
	end := subjects.End{Persisted: true, Reason: subjects.ReasonDone}
	_, err = f.store.EndRun(f.Context(), e.RunID, end)
	require.NoError(t, err)
	require.NoError(t, f.store.Evict(f.Context(), e.RunID))
	key, err := subjects.PointerKey("", "a.b")
	require.NoError(t, err)

	first := func(runs.Change) bool { return true }
	created := next(t, l, first)
	require.Equal(t, e.RunID, created.RunID)
	require.True(t, created.Entry.Active())
	pointed := next(t, l, first)
	require.Equal(t, key, pointed.ChatKey)
	require.Equal(t, e.RunID, pointed.Pointer.RunID)
	ended := next(t, l, func(c runs.Change) bool { return c.Entry != nil && c.Entry.End != nil })
	require.Equal(t, end, *ended.Entry.End)
	dropped := next(t, l, func(c runs.Change) bool { return c.ChatKey != "" })
	require.Nil(t, dropped.Pointer)
	gone := next(t, l, first)
	require.Equal(t, e.RunID, gone.RunID)
	require.Nil(t, gone.Entry)
	require.IsIncreasing(t, []uint64{created.Revision, pointed.Revision, ended.Revision, dropped.Revision, gone.Revision})
	require.Zero(t, l.Missed())
}

func TestEverythingIsReadInPages(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	want := map[subjects.RunID]bool{}
	for i := range 300 { // more than one page
		want[f.start(string(rune('A'+i%26))+string(rune('a'+i/26)), 1, "p").RunID] = true
	}
	pointers := 0
	require.NoError(t, f.store.EachEntryAndPointer(f.Context(), func(c runs.Change) {
		if c.Pointer != nil {
			pointers++
			return
		}
		require.Zero(t, pointers, "entries come first")
		require.Equal(t, c.RunID, c.Entry.RunID)
		delete(want, c.RunID)
	}))
	require.Empty(t, want)
	require.Equal(t, 300, pointers)
}

func TestWhatDoesNotFitIsKnownToBeMissed(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	s := f.open(runs.Config{})
	l, err := s.Listen(1)
	require.NoError(t, err)
	defer l.Close()
	f.start("c", 1, "p")
	require.NoError(t, s.Conn().Publish("rejoin.kv.run.x", nil)) // no change of the bucket's
	require.Eventually(t, func() bool { return l.Missed() > 0 }, patience, time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for err == nil {
		_, err = l.Next(ctx)
	}
	require.ErrorIs(t, err, context.Canceled)
}

// A bucket that was made when only pointers were republished is brought up to date.
func TestProvisioningWidensWhatIsRepublished(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	old := subjects.BucketConfig(1)
	old.RePublish = &jetstream.RePublish{Source: "$KV.rejoin.chat.>", Destination: "rejoin.pointer.>"}
	_, err := f.js.UpdateStream(f.Context(), old)
	require.NoError(t, err)
	s := f.open(runs.Config{Provision: true})
	heard := make(chan *nats.Msg, 1)
	sub, err := s.Conn().ChanSubscribe(subjects.RunChangesSubject, heard)
	require.NoError(t, err)
	defer func() { _ = sub.Unsubscribe() }()
	require.NoError(t, s.Conn().Flush())
	e := f.start("c", 1, "p")
	select {
	case m := <-heard:
		require.Equal(t, subjects.KeySubject(subjects.RunKey(e.RunID)), m.Header.Get("Nats-Subject"))
	case <-time.After(patience):
		t.Fatal("the change of an entry was not heard")
	}
}
