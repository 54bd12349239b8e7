package consumer

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Who waits gets its bytes in order of arrival, a large one before the small ones behind
// it, and one larger than everything as soon as nothing is held.
func TestBudgetIsFair(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var held int64
		var waiting int
		b := &budget{limit: 100, told: func(n int64, w int) { held, waiting = n, w }}
		first := share{of: b}
		require.NoError(t, first.wait(t.Context(), 60))
		turns := make(chan int, 4)
		shares := make([]share, 4)
		for i, n := range []int64{50, 10, 1000, 10} {
			shares[i].of = b
			go func() {
				if shares[i].wait(t.Context(), n) == nil {
					turns <- i
				}
			}()
			synctest.Wait()
		}
		require.Empty(t, turns, "the small one does not pass the large one")
		require.EqualValues(t, 60, held)
		require.Equal(t, 4, waiting)
		first.set(45)
		synctest.Wait()
		require.Equal(t, 0, <-turns)
		require.Empty(t, turns)
		first.set(200) // corrected upwards: more than there is, without waiting
		require.EqualValues(t, 250, held)
		first.set(0)
		synctest.Wait()
		require.Equal(t, 1, <-turns)
		require.Empty(t, turns)
		shares[0].set(0)
		shares[1].set(0)
		synctest.Wait()
		require.Equal(t, 2, <-turns)
		require.EqualValues(t, 100, shares[2].held, "all of it")
		require.Empty(t, turns)
		shares[2].set(0)
		synctest.Wait()
		require.Equal(t, 3, <-turns)
		shares[3].set(0)
		require.Zero(t, held)
		require.Zero(t, waiting)
	})
}

// Who gives up waiting takes nothing, and lets those behind it pass.
func TestBudgetIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &budget{limit: 100}
		first := share{of: b}
		require.NoError(t, first.wait(t.Context(), 90))
		gone, leave := context.WithCancel(t.Context())
		failed := make(chan error)
		go func() { failed <- (&share{of: b}).wait(gone, 50) }()
		synctest.Wait()
		passed := make(chan error, 1)
		small := share{of: b}
		go func() { passed <- small.wait(t.Context(), 10) }()
		synctest.Wait()
		require.Empty(t, passed)
		leave()
		require.ErrorIs(t, <-failed, context.Canceled)
		require.NoError(t, <-passed)
		first.set(0)
		small.set(0)
		require.Zero(t, b.held)
	})
}

// What is held is overdue only while others wait, and the later the more it is.
func TestHoldsAreOverdueWhileOthersWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &budget{limit: 10 << 20}
		holder := share{of: b}
		require.NoError(t, holder.wait(t.Context(), 10<<20))
		var h hold
		require.False(t, h.overdue(b, time.Second))
		h.begin(10 << 20)
		time.Sleep(time.Hour)
		require.False(t, h.overdue(b, time.Second), "nobody wants it")
		h.begin(10 << 20)
		waiter := share{of: b}
		done := make(chan error)
		go func() { done <- waiter.wait(t.Context(), 1) }()
		synctest.Wait()
		time.Sleep(11 * time.Second)
		require.False(t, h.overdue(b, time.Second))
		time.Sleep(time.Millisecond)
		require.True(t, h.overdue(b, time.Second))
		h.end()
		require.False(t, h.overdue(b, time.Second))
		holder.set(0)
		require.NoError(t, <-done)
	})
}
