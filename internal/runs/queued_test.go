package runs_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/proxy"
)

// queued starts a run whose turn waits.
func (f *fabric) queued(chat string, on runs.OnActive) *runs.Started {
	f.Helper()
	st, err := f.store.StartRun(f.Context(), queuedRequest(chat, on))
	require.NoError(f, err)
	if !st.Behind {
		require.NoError(f, f.store.Enqueue(f.Context(), st.Entry))
	}
	return st
}

func queuedRequest(chat string, on runs.OnActive) runs.StartRequest {
	return runs.StartRequest{Entry: runs.Entry{ChatID: chat, Kind: "send", TurnID: "t", State: runs.StateQueued}, OnActive: on}
}

// begin is what a worker does first.
func (f *fabric) begin(id subjects.RunID) error {
	_, err := f.store.ChangeEntry(f.Context(), id, func(e *runs.Entry) error {
		if e.State != runs.StateQueued || e.End != nil {
			return errors.New("begun")
		}
		e.State, e.Producer = runs.StateRunning, "p"
		return nil
	})
	return err
}

// said gives the events of a run and its end.
func (f *fabric) said(id subjects.RunID) (events string, end *subjects.End) {
	f.Helper()
	page, err := f.store.Page(f.Context(), id, 0)
	require.NoError(f, err)
	last := uint64(0)
	for _, rec := range page {
		require.Nil(f, end, "a record behind the end")
		require.Equal(f, last, rec.Prev())
		last = rec.Last
		if end = rec.End(); end == nil && rec.Kind == subjects.KindEvents {
			events += string(rec.Body) + "\n"
		}
	}
	return events, end
}

func TestUnclaimedTurnHasAVisibleEnd(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	st, begun := f.queued("c", runs.Reject), f.queued("begun", runs.Reject)
	behind := f.queued("begun", runs.Behind)
	require.NoError(t, f.begin(begun.RunID))
	j := runs.NewJanitor(f.store, runs.JanitorConfig{TurnTTL: 200 * time.Millisecond, Lease: time.Hour})
	f.sweepUntil(j, func() bool { return !f.entry(st.RunID).Active() })
	events, end := f.said(st.RunID)
	require.Contains(t, events, `"RUN_ERROR"`)
	require.Contains(t, events, `"code":"unclaimed"`)
	require.Equal(t, &subjects.End{Reason: subjects.ReasonError}, end)
	require.Equal(t, end, f.entry(st.RunID).End)
	require.Error(t, f.begin(st.RunID))
	require.True(t, f.entry(begun.RunID).Active())
	require.True(t, f.entry(behind.RunID).Active(), "its time has not come")
}

// A worker begins in the very moment in which a turn's time is over: either or.
func TestUnclaimedOrBegun(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	var count [2]int
	for round := range 60 {
		st := f.queued(fmt.Sprint(round), runs.Reject)
		j := runs.NewJanitor(f.store, runs.JanitorConfig{TurnTTL: time.Nanosecond, Lease: time.Hour})
		var wg sync.WaitGroup
		var err error
		wg.Go(func() {
			for from := time.Now(); time.Since(from) < time.Duration(round)*50*time.Microsecond; {
			}
			err = f.begin(st.RunID)
		})
		f.sweep(j)
		wg.Wait()
		events, end := f.said(st.RunID)
		if err == nil {
			count[0]++
			require.Nil(t, end)
			require.Empty(t, events)
			require.True(t, f.entry(st.RunID).Active())
		} else {
			count[1]++
			require.Equal(t, subjects.ReasonError, end.Reason)
			require.Contains(t, events, "unclaimed")
		}
	}
	t.Log("begun, unclaimed:", count)
}

// A turn whose time has come between a janitor's looks at entries and pointers is not as
// old as it looks.
func TestTurnThatJustGotItsTimeIsNotUnclaimed(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	const ttl = 4 * time.Second // no sweep takes as long
	var first, behind []*runs.Started
	for i := range 60 {
		first = append(first, f.queued(fmt.Sprint(i), runs.Reject))
		behind = append(behind, f.queued(fmt.Sprint(i), runs.Behind))
		require.NoError(t, f.begin(first[i].RunID))
	}
	time.Sleep(ttl) // they are old now, though their time has not come
	for i := range first {
		j := runs.NewJanitor(f.store, runs.JanitorConfig{TurnTTL: ttl, Lease: time.Hour})
		var wg sync.WaitGroup
		wg.Go(func() {
			for from := time.Now(); time.Since(from) < time.Duration(i)*25*time.Microsecond; {
			}
			if _, err := f.store.EndRun(t.Context(), first[i].RunID, subjects.End{Reason: subjects.ReasonDone}); err != nil {
				t.Error(err)
			}
		})
		f.sweep(j)
		wg.Wait()
		require.True(t, f.entry(behind[i].RunID).Active())
		require.NoError(t, f.begin(behind[i].RunID))
	}
}

// Ends at once in one chat: the order is kept, each turn is queued once, and the
// generation never falls.
func TestConcurrentEndsKeepTheOrder(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	other := f.open(runs.Config{})
	order := []subjects.RunID{f.queued("c", runs.Reject).RunID}
	for range 12 {
		order = append(order, f.queued("c", runs.Behind).RunID)
	}
	var generation uint64
	for i := range order {
		p, err := f.store.Pointer(t.Context(), "", "c")
		require.NoError(t, err)
		require.Equal(t, order[i], p.RunID)
		require.Equal(t, order[i+1:], append([]subjects.RunID{}, p.Queue...))
		require.Greater(t, p.Generation, generation)
		generation = p.Generation
		var wg sync.WaitGroup
		for k := range 6 {
			wg.Go(func() {
				s := []*runs.Store{f.store, other}[k%2]
				var err error
				if k < 4 {
					_, err = s.EndRun(t.Context(), order[i], subjects.End{Reason: subjects.ReasonDone})
				} else {
					err = s.Promote(t.Context(), "", "c")
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}

// A start that was stalled so long that a janitor removed its run is made once more: no
// pointer names a run that is not there, and no turn is lost.
func TestStartThatWasStalled(t *testing.T) {
	t.Parallel()
	d := newDistant(t)
	f := d.f
	var hold func()
	ids := make(chan subjects.RunID, 8)
	req := queuedRequest("c", runs.Reject)
	req.ClientToken = "token"
	var once sync.Once
	req.Prepare = func(_ context.Context, id subjects.RunID) error {
		once.Do(func() { hold = d.proxy.Hold(proxy.Down) })
		ids <- id
		return nil
	}
	result := make(chan *runs.Started, 1)
	go func() {
		st, err := d.StartRun(t.Context(), req)
		if err != nil {
			t.Error(err)
		}
		result <- st
	}()
	id := <-ids
	require.Eventually(t, func() bool { _, err := f.store.Last(t.Context(), id); return err == nil }, patience, time.Millisecond)
	hold()
	hold = d.proxy.Hold(proxy.Down) // the entry's turn: it is stored, and its ack waits
	require.Eventually(t, func() bool { _, err := f.store.Entry(t.Context(), id); return err == nil }, patience, time.Millisecond)
	j := runs.NewJanitor(f.store, runs.JanitorConfig{Lease: time.Nanosecond})
	f.sweepUntil(j, func() bool { _, err := f.store.Entry(t.Context(), id); return errors.Is(err, runs.ErrNotFound) })
	time.Sleep(runs.MinLease) // the stall's length, not a wait for anything
	hold()
	st := <-result
	require.NotNil(t, st)
	require.NotEqual(t, id, st.RunID)
	require.True(t, f.entry(st.RunID).Active())
	p, err := f.store.Pointer(t.Context(), "", "c")
	require.NoError(t, err)
	require.Equal(t, st.RunID, p.RunID)
	again, ok := p.Started("token")
	require.True(t, ok)
	require.Equal(t, st.RunID, again)
}
