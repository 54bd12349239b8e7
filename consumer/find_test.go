package consumer_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

func (f *fabric) find(req consumer.FindRequest) (*runs.Entry, error) {
	return f.hub.Find(f.t.Context(), req)
}

func TestFindChoosesTheRun(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{})
	idle := func(req consumer.FindRequest) {
		t.Helper()
		_, err := f.find(req)
		require.ErrorIs(t, err, consumer.ErrIdle)
	}
	found := func(r *run, req consumer.FindRequest) {
		t.Helper()
		e, err := f.find(req)
		require.NoError(t, err)
		require.Equal(t, r.entry.RunID, e.RunID)
	}
	chat := consumer.FindRequest{ChatID: "c"}
	with := func(id subjects.RunID) consumer.FindRequest { return consumer.FindRequest{ChatID: "c", RunID: id} }
	idle(chat)
	idle(with("nonsense"))
	idle(with(f.store.NewRunID()))

	first := f.start("c", 1)
	found(first, chat)
	found(first, with("nonsense"))
	idle(consumer.FindRequest{ChatID: "d", RunID: first.entry.RunID})
	idle(consumer.FindRequest{Realm: "t", ChatID: "c", RunID: first.entry.RunID})
	first.finish(subjects.End{Reason: subjects.ReasonError})
	found(first, chat) // not saved

	second := f.start("c", 2)
	found(second, chat)
	found(second, with(first.entry.RunID))
	second.finish(subjects.End{Persisted: true, Reason: subjects.ReasonDone})
	idle(chat) // saved
	found(second, with(second.entry.RunID))
	found(second, with(first.entry.RunID))

	require.NoError(t, f.store.Evict(t.Context(), second.entry.RunID))
	idle(chat)
	found(first, with(first.entry.RunID)) // still kept
	idle(with(second.entry.RunID))
}

func TestFindRefusesAChatIDThatIsTooLong(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{})
	for _, wait := range []time.Duration{0, time.Hour} {
		_, err := f.find(consumer.FindRequest{ChatID: strings.Repeat("x", 257), Wait: wait})
		require.ErrorIs(t, err, subjects.ErrTooLong)
		require.NotErrorIs(t, err, consumer.ErrBrokerUnavailable)
	}
}

// A run that appears while somebody waits is found, told or not told by the broker.
func TestHANG01_FindWaitsForARun(t *testing.T) {
	t.Parallel()
	for name, deaf := range map[string]bool{"told": false, "not told": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFabric(t, consumer.HubConfig{})
			old := f.start("c", 1)
			old.finish(subjects.End{Persisted: true, Reason: subjects.ReasonDone})
			if deaf {
				f.deafenPointers()
			}
			found := make(chan *runs.Entry, 1)
			subs := f.store.Conn().NumSubscriptions()
			go func() {
				e, err := f.find(consumer.FindRequest{ChatID: "c", Wait: time.Hour})
				if err != nil {
					t.Error(err)
				}
				found <- e
			}()
			require.Eventually(t, func() bool { return f.store.Conn().NumSubscriptions() > subs }, patience, time.Millisecond)
			next := f.start("c", 2)
			select {
			case e := <-found:
				require.Equal(t, next.entry.RunID, e.RunID)
			case <-time.After(patience):
				t.Fatal("not found")
			}
			require.Equal(t, subs, f.store.Conn().NumSubscriptions())
		})
	}
}

// asked gets an element for each question about the bucket.
func (f *fabric) asked() <-chan struct{} {
	f.t.Helper()
	asked := make(chan struct{}, 100)
	nc, err := f.server.Connect()
	require.NoError(f.t, err)
	f.t.Cleanup(nc.Close)
	_, err = nc.Subscribe("$JS.API.STREAM.MSG.GET."+subjects.BucketStream, func(*nats.Msg) { asked <- struct{}{} })
	require.NoError(f.t, err)
	require.NoError(f.t, nc.Flush())
	return asked
}

// A run that is over before whoever waits for it has looked is found all the same, and the
// one that was there before is not.
func TestFindFindsARunThatWasShort(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{})
	saved := subjects.End{Persisted: true, Reason: subjects.ReasonDone}
	f.start("c", 1).finish(saved)
	f.deafenPointers()
	asked := f.asked()
	found := make(chan *runs.Entry, 1)
	go func() {
		e, err := f.find(consumer.FindRequest{ChatID: "c", Wait: time.Hour})
		if err != nil {
			t.Error(err)
		}
		found <- e
	}()
	for range 4 { // pointer and entry, twice: from now on it asks ever more rarely
		<-asked
	}
	short := f.start("c", 2)
	short.finish(saved)
	require.Equal(t, short.entry.RunID, (<-found).RunID)
	_, err := f.find(consumer.FindRequest{ChatID: "c", Wait: 50 * time.Millisecond})
	require.ErrorIs(t, err, consumer.ErrIdle)
}

// What appears before the deadline is found also when nothing tells of it before.
func TestHANG01_FindLooksOnceMoreAtTheDeadline(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{})
	f.deafenPointers()
	asked := f.asked()

	const wait = 1300 * time.Millisecond
	began := time.Now()
	found := make(chan error, 1)
	go func() {
		_, err := f.find(consumer.FindRequest{ChatID: "c", Wait: wait})
		found <- err
	}()
	for range 4 { // the fifth time would be later than the deadline
		<-asked
	}
	f.start("c", 1)
	inTime := time.Since(began) < wait
	if err := <-found; inTime {
		require.NoError(t, err)
	}
}

func TestFindGivesUpAtTheDeadlineAndWithItsContext(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{})
	subs := f.store.Conn().NumSubscriptions()
	_, err := f.find(consumer.FindRequest{ChatID: "c", Wait: 50 * time.Millisecond})
	require.ErrorIs(t, err, consumer.ErrIdle)
	_, err = f.find(consumer.FindRequest{ChatID: "c", Wait: time.Nanosecond})
	require.ErrorIs(t, err, consumer.ErrIdle)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = f.hub.Find(ctx, consumer.FindRequest{ChatID: "c", Wait: time.Hour})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, subs, f.store.Conn().NumSubscriptions())
}
