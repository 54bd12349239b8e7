package consumer_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// queue makes a run that waits behind the others of its chat.
func (f *fabric) queue(chat string) subjects.RunID {
	f.t.Helper()
	s, err := f.store.StartRun(f.t.Context(), runs.StartRequest{
		Entry: runs.Entry{ChatID: chat, State: runs.StateQueued}, OnActive: runs.Behind})
	require.NoError(f.t, err)
	return s.RunID
}

func TestFindChoosesARunThatWaitsByItsID(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{})
	found := func(want, asked subjects.RunID) {
		t.Helper()
		e, err := f.find(consumer.FindRequest{ChatID: "c", RunID: asked})
		require.NoError(t, err)
		require.Equal(t, want, e.RunID)
	}
	first := f.queue("c") // nothing is active, so its time is now
	second, third := f.queue("c"), f.queue("c")
	found(first, "")
	found(first, first)
	found(second, second)
	found(third, third)
	found(first, f.store.NewRunID())
	_, err := f.find(consumer.FindRequest{ChatID: "d", RunID: second})
	require.ErrorIs(t, err, consumer.ErrIdle)

	// Between the end of one and the time of the next, the next is the chat's run.
	_, err = f.store.ChangeEntry(t.Context(), first, func(e *runs.Entry) error {
		e.State, e.End = runs.StateEnded, &subjects.End{Persisted: true, Reason: subjects.ReasonDone}
		return nil
	})
	require.NoError(t, err)
	found(second, "")
	found(first, first)
	found(third, third)
}

func TestAwaitEnd(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{})
	r := f.start("c", 1)
	r.publish(2)
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, _, err := f.hub.AwaitEnd(short, r.entry.RunID)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	type ended struct {
		end subjects.End
		seq uint64
		err error
	}
	got := make(chan ended, 1)
	go func() {
		end, seq, err := f.hub.AwaitEnd(context.Background(), r.entry.RunID)
		got <- ended{end, seq, err}
	}()
	r.publish(3)
	want := subjects.End{Reason: subjects.ReasonStopped}
	r.finish(want)
	require.Equal(t, ended{want, 5, nil}, <-got)
	end, seq, err := f.hub.AwaitEnd(t.Context(), r.entry.RunID)
	require.NoError(t, err)
	require.Equal(t, ended{want, 5, nil}, ended{end, seq, err})

	require.NoError(t, f.store.Evict(t.Context(), r.entry.RunID))
	fresh := consumer.NewHub(consumer.HubConfig{Store: f.store})
	defer fresh.Close()
	_, _, err = fresh.AwaitEnd(t.Context(), r.entry.RunID)
	require.ErrorIs(t, err, consumer.ErrGone)

	open := f.start("c", 2)
	go func() {
		end, seq, err := f.hub.AwaitEnd(context.Background(), open.entry.RunID)
		got <- ended{end, seq, err}
	}()
	f.hub.Close()
	require.ErrorIs(t, (<-got).err, consumer.ErrBrokerUnavailable)
}
