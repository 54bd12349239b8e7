package consumer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
)

// Who has seen the end of a run gets the next one, however short it was, and never that one
// again, saved or not.
func TestFindFindsTheRunAfterAnother(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{})
	ends := []subjects.End{{Persisted: true, Reason: subjects.ReasonDone}, {Reason: subjects.ReasonError}}
	last := f.start("c", 1)
	for i := range uint64(6) {
		after := consumer.FindRequest{ChatID: "c", After: last.entry.RunID}
		_, err := f.find(after)
		require.ErrorIs(t, err, consumer.ErrIdle, "while it goes on")
		last.finish(ends[i%2])
		after.Wait = 20 * time.Millisecond
		_, err = f.find(after)
		require.ErrorIs(t, err, consumer.ErrIdle)
		next := f.start("c", 2+i)
		if i%3 == 0 {
			next.finish(ends[0])
			after.Wait = 0
		}
		e, err := f.find(after)
		require.NoError(t, err)
		require.Equal(t, next.entry.RunID, e.RunID)
		if i%3 == 0 {
			next = f.start("c", 100+i)
		}
		last = next
	}
}

// Who waits without an end is told once that there is nothing, and gives up once the broker has
// been away for too long.
func TestFindTellsThatAChatIsIdle(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{})
	idle, found := make(chan struct{}, 10), make(chan error, 1)
	wait := func() {
		_, err := f.find(consumer.FindRequest{ChatID: "c", Wait: consumer.Forever, Patience: 100 * time.Millisecond,
			Idle: func() { idle <- struct{}{} }})
		found <- err
	}
	f.deafenPointers() // it is asked again and again
	asked := f.asked()
	go wait()
	<-idle
	for range 3 {
		<-asked
	}
	r := f.start("c", 1)
	require.NoError(t, <-found)
	require.Empty(t, idle)
	r.finish(subjects.End{Persisted: true, Reason: subjects.ReasonDone})
	subs := f.store.Conn().NumSubscriptions()
	go wait()
	<-idle
	f.server.Stop()
	require.ErrorIs(t, <-found, consumer.ErrBrokerUnavailable)
	require.Empty(t, idle)
	require.Equal(t, subs, f.store.Conn().NumSubscriptions())
}
