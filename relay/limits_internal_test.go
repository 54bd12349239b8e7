package relay

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/auth"
	"github.com/rejoin/rejoin/internal/problem"
	"github.com/rejoin/rejoin/subjects"
)

// as is the context of a request of a user; "" is nobody.
func as(t *testing.T, user string) context.Context {
	t.Helper()
	realm, err := subjects.NewRealm("tenant", user)
	require.NoError(t, err)
	return auth.With(t.Context(), &auth.Identity{Tenant: "tenant", Realm: realm})
}

func TestObserversOfAnOwnerAndOfARun(t *testing.T) {
	t.Parallel()
	all := newObservers(100, time.Hour, time.Hour)
	all.owners.limit, all.runs.limit = 2, 3
	admit := func(user string) (*observer, error) {
		o, _, err := all.admit(as(t, user))
		return o, err
	}
	first, err := admit("a")
	require.NoError(t, err)
	second, err := admit("a")
	require.NoError(t, err)
	_, err = admit("a")
	require.ErrorIs(t, err, errOwnerFull)
	other, err := admit("b")
	require.NoError(t, err, "another one's are their own")
	for range 5 {
		_, err := admit("")
		require.NoError(t, err, "nobody has no limit")
	}
	controls, _, err := all.admitWriter(as(t, "a"))
	require.NoError(t, err, "nor has a producer")
	first.done()
	first.done()
	third, err := admit("a")
	require.NoError(t, err, "one place is free")

	for _, o := range []*observer{second, third, controls} {
		require.NoError(t, o.watches("run"))
	}
	require.ErrorIs(t, other.watches("run"), errRunFull)
	require.NoError(t, other.watches("another"))
	third.done()
	require.NoError(t, first.watches("run"))
	for _, o := range []*observer{second, other, controls} {
		o.done()
	}
	require.Empty(t, all.owners.held, "nothing is remembered of who has left")
	require.Equal(t, map[subjects.RunID]int{"run": 1}, all.runs.held, "of one that watched after it was done, in this test alone")
}

func TestMessagesArePaced(t *testing.T) {
	t.Parallel()
	s := newPaces(Limits{OwnerSends: 60})
	now := time.Unix(1_700_000_000, 0)
	for range 15 {
		require.NoError(t, s.take("a", now))
	}
	err := s.take("a", now)
	require.ErrorIs(t, err, errOwnerSends)
	var p *problem.Error
	require.ErrorAs(t, err, &p)
	require.Equal(t, problem.TooManyRequests, p.Code)
	require.Equal(t, time.Second, p.RetryAfter)
	require.NoError(t, s.take("b", now), "another one's are their own")
	require.NoError(t, s.take("a", now.Add(p.RetryAfter)), "then there is room")
	require.Error(t, s.take("a", now.Add(p.RetryAfter)))
	for range 1000 {
		require.NoError(t, s.take("", now), "nobody has no limit")
	}
}

func TestMessagesOfAllArePaced(t *testing.T) {
	t.Parallel()
	s := newPaces(Limits{OwnerSends: 4, Sends: 3})
	now := time.Unix(1_700_000_000, 0)
	require.NoError(t, s.take("a", now))
	require.NoError(t, s.take("", now))
	require.NoError(t, s.take("b", now))
	err := s.take("c", now)
	require.ErrorIs(t, err, errSends)
	var p *problem.Error
	require.ErrorAs(t, err, &p)
	require.Equal(t, 503, p.Status)
	require.Positive(t, p.RetryAfter)
	require.NoError(t, s.take("c", now.Add(time.Second)), "what was refused for the sake of all has cost its owner nothing")
	require.ErrorIs(t, s.take("a", now.Add(time.Second)), errOwnerSends)
}

func TestOwnersWhoSendAreForgotten(t *testing.T) {
	t.Parallel()
	s := newPaces(Limits{OwnerSends: 4})
	now := time.Unix(1_700_000_000, 0)
	for i := range maxPaces + 100 {
		require.NoError(t, s.take(subjects.Realm(fmt.Sprint(i)), now))
		require.ErrorIs(t, s.take("0", now), errOwnerSends, "who goes on is not forgotten")
	}
	require.Len(t, s.owners, maxPaces)
	require.Equal(t, maxPaces, s.recent.Len())
}

func TestLimitsFollowFromOpenFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in                     Limits
		observers, files       int
		connections, watchable int
	}{
		{files: 0, connections: 40_000, watchable: 10_000},
		{files: 1 << 20, connections: 40_000, watchable: 10_000},
		{files: 1024, connections: 912, watchable: 821},
		{files: 1024, in: Limits{SpareFiles: 256}, connections: 720, watchable: 648},
		{files: 1024, in: Limits{Connections: 5000}, connections: 5000, watchable: 4500},
		{files: 1024, observers: 9000, connections: 912, watchable: 9000}, // HTTP/2 needs fewer connections
		{files: 10, connections: 1, watchable: 1},
	} {
		got, observers, err := c.in.withDefaults(c.observers, c.files)
		require.NoError(t, err)
		require.Equal(t, c.connections, got.Connections, c)
		require.Equal(t, c.watchable, observers, c)
	}
	for _, bad := range []Limits{{OwnerObservers: -1}, {RunObservers: -1}, {OwnerSends: -1}, {Sends: -1}, {Connections: -1}, {SpareFiles: -1}, {HeaderBytes: 100}} {
		_, _, err := bad.withDefaults(0, 0)
		require.ErrorIs(t, err, ErrConfig)
	}
	_, _, err := Limits{}.withDefaults(-1, 0)
	require.ErrorIs(t, err, ErrConfig)
}

func TestTurnsThatDoNotCome(t *testing.T) {
	t.Parallel()
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	<-late.Done()
	require.ErrorIs(t, waited(t.Context(), fmt.Errorf("x: %w", late.Err())), errBusy)
	require.NotErrorIs(t, waited(late, late.Err()), errBusy, "the client's own time was over")
	other := errors.New("other")
	require.Equal(t, other, waited(t.Context(), other))
}

// One producer's streams of controls leave room for those who watch.
func TestAProducerLeavesRoomForObservers(t *testing.T) {
	t.Parallel()
	all := newObservers(6, time.Hour, time.Second)
	var open []*observer
	for range 3 {
		o, _, err := all.admitWriter(as(t, "p"))
		require.NoError(t, err)
		open = append(open, o)
	}
	_, _, err := all.admitWriter(as(t, "p"))
	require.ErrorIs(t, err, errOwnerFull)
	for _, admit := range []func(context.Context) (*observer, context.Context, error){all.admitWriter, all.admit} {
		o, _, err := admit(as(t, "q"))
		require.NoError(t, err)
		open = append(open, o)
	}
	for _, o := range open {
		o.done()
	}
	require.Empty(t, all.writers.held)
}
