package relay

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/subjects"
)

func TestNobodyTakesAllSeats(t *testing.T) {
	t.Parallel()
	ann, err := subjects.NewRealm("t", "ann")
	require.NoError(t, err)
	bob, err := subjects.NewRealm("t", "bob")
	require.NoError(t, err)
	s := newSeats(8)
	var of []*seat
	for range 2 {
		p, err := s.take(ann)
		require.NoError(t, err)
		of = append(of, p)
	}
	_, err = s.take(ann)
	require.ErrorIs(t, err, errOwnerSeats)
	for range 2 {
		p, err := s.take(bob)
		require.NoError(t, err)
		of = append(of, p)
	}
	for range 4 { // nobody is counted by name where nobody is authenticated
		p, err := s.take("")
		require.NoError(t, err)
		of = append(of, p)
	}
	_, err = s.take("")
	require.ErrorIs(t, err, errBusy)
	for _, p := range of {
		p.leave()
	}
	require.Zero(t, s.taken)
	require.Empty(t, s.owners.held)
	_, err = s.take(ann)
	require.NoError(t, err)
}

func TestWhoReadsSlowlyKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSeats(1)
		p, err := s.take("")
		require.NoError(t, err)
		p.holds(5 << 20)
		time.Sleep(time.Hour)
		require.False(t, p.overdue(), "nobody minds")
		_, err = s.take("")
		require.ErrorIs(t, err, errBusy)
		require.True(t, p.overdue())
		p.leave()

		p, err = s.take("")
		require.NoError(t, err)
		p.holds(5 << 20)
		_, err = s.take("")
		require.ErrorIs(t, err, errBusy)
		time.Sleep(9 * time.Second)
		require.False(t, p.overdue(), "it had no time yet")
		time.Sleep(12 * time.Second)
		require.False(t, p.overdue(), "whoever was refused has gone")
		_, err = s.take("")
		require.ErrorIs(t, err, errBusy)
		require.True(t, p.overdue())
	})
}
