package relay

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/runs"
)

func TestOPS01_DeparturesAreSpread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := newObservers(1000, time.Hour, 10*time.Second)
		var told []time.Duration
		var open []*observer
		for range 1000 {
			o, _, err := all.admit(t.Context())
			require.NoError(t, err)
			require.NoError(t, o.stream())
			open = append(open, o)
		}
		_, _, err := all.admit(t.Context())
		require.ErrorIs(t, err, errFull)
		from := time.Now()
		require.True(t, all.drain())
		require.False(t, all.drain())
		_, _, err = all.admit(t.Context())
		require.ErrorIs(t, err, errDraining)
		perSecond := map[time.Duration]int{}
		for range 11 {
			synctest.Wait()
			for _, o := range open {
				select {
				case c := <-o.leave:
					require.Equal(t, causeDrain, c)
					told = append(told, time.Since(from))
					o.done()
					perSecond[time.Since(from).Truncate(time.Second)]++
				default:
				}
			}
			time.Sleep(time.Second)
		}
		require.Len(t, told, 1000)
		for s, n := range perSecond {
			require.Less(t, n, 200, "in second %v", s) // OPS-02: no second has more than a fifth
		}
		<-all.empty
	})
}

// OPS-01, in figures, as a relay is unless told otherwise: all streams are told to leave
// within two seconds, their clients are to be back within five of the beginning, and what
// does not end by itself is broken off within ten.
func TestOPS01_DefaultsKeepTheTimes(t *testing.T) {
	t.Parallel()
	cfg, err := Config{Hub: new(consumer.Hub), Store: new(runs.Store)}.withDefaults()
	require.NoError(t, err)
	for range 1000 {
		require.LessOrEqual(t, cfg.DrainWindow+retryTime(), 4*time.Second, "which leaves one for the way")
	}
	require.Less(t, cfg.DrainTimeout+lastWait, 10*time.Second)
	synctest.Test(t, func(t *testing.T) {
		all := newObservers(500, time.Hour, cfg.DrainWindow)
		var open []*observer
		for range 500 {
			o, _, err := all.admit(t.Context())
			require.NoError(t, err)
			require.NoError(t, o.stream())
			open = append(open, o)
		}
		all.drain()
		time.Sleep(2 * time.Second)
		for _, o := range open {
			require.Len(t, o.leave, 1)
			o.done()
		}
		<-all.empty
	})
}

// Who hurries does not wait for a stream that waits for the broker.
func TestOPS01_HurryBreaksOffReads(t *testing.T) {
	t.Parallel()
	all := newObservers(2, time.Hour, time.Hour)
	o, ctx, err := all.admit(t.Context())
	require.NoError(t, err)
	require.NoError(t, o.stream())
	waiter, waits, err := all.admit(t.Context())
	require.NoError(t, err)
	all.drain()
	require.ErrorIs(t, context.Cause(waits), errDraining, "who waits for a run goes at once")
	require.ErrorIs(t, waiter.stream(), errDraining)
	require.NoError(t, ctx.Err())
	all.hurry()
	require.ErrorIs(t, context.Cause(ctx), errDraining)
	require.Equal(t, causeDrain, <-o.leave)
	o.done()
	o.done()
	waiter.done()
	<-all.empty
}

func TestAgesAreSpread(t *testing.T) {
	t.Parallel()
	for range 1000 {
		age := jitter(time.Hour, time.Hour/10)
		require.GreaterOrEqual(t, age, 54*time.Minute)
		require.LessOrEqual(t, age, 66*time.Minute)
	}
}
