package turns_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/subjects"
)

func TestSTOP02_NamesOneRunOfOneChat(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	r := message("c", runs.Reject)
	r.Realm, r.ClientToken = "t", "token"
	sent, err := f.queue.Send(t.Context(), r)
	require.NoError(t, err)
	require.NoError(t, f.begin(sent.RunID, false))
	for name, s := range map[string]turns.StopRequest{
		"another chat":         {Realm: "t", ChatID: "d", RunID: sent.RunID},
		"another tenant":       {ChatID: "c", RunID: sent.RunID},
		"another chat's token": {Realm: "t", ChatID: "d", ClientToken: "token"},
		"another token":        {Realm: "t", ChatID: "c", ClientToken: "x"},
		"no name":              {Realm: "t", ChatID: "c"},
		"no such run":          {Realm: "t", ChatID: "c", RunID: f.store.NewRunID()},
		"no run id":            {Realm: "t", ChatID: "c", RunID: "*.>"},
	} {
		_, err := f.queue.Stop(t.Context(), s)
		require.ErrorIs(t, err, turns.ErrNotFound, name)
	}
	_, err = f.queue.Stop(t.Context(), turns.StopRequest{Realm: "t", ChatID: "c", RunID: sent.RunID, Reason: strings.Repeat("x", 257)})
	require.ErrorIs(t, err, turns.ErrOptions)
	controls, err := f.store.Controls(t.Context(), sent.RunID, 0)
	require.NoError(t, err)
	require.Empty(t, controls)

	for range 2 { // and again until it is over
		id, err := f.queue.Stop(t.Context(), turns.StopRequest{Realm: "t", ChatID: "c", ClientToken: "token", Reason: "enough"})
		require.NoError(t, err)
		require.Equal(t, sent.RunID, id)
	}
	require.True(t, f.entry(sent.RunID).Active(), "its producer ends it")
	controls, err = f.store.Controls(t.Context(), sent.RunID, 0)
	require.NoError(t, err)
	require.Len(t, controls, 1)
	require.Equal(t, runs.ControlStop, controls[0].Kind)
	require.Equal(t, "enough", controls[0].Reason)
}

func TestSTOP02_AfterTheEndIsStale(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	first := f.send("c", runs.Reject)
	// The end may be in the log and not in the entry yet.
	r := subjects.EndRecord(subjects.End{Reason: subjects.ReasonDone}, 0, "w")
	require.NoError(t, f.begin(first.RunID, false))
	_, err := f.store.Append(t.Context(), first.RunID, &r, f.entry(first.RunID).FirstStreamSeq)
	require.NoError(t, err)
	for range 2 {
		id, err := f.queue.Stop(t.Context(), turns.StopRequest{ChatID: "c", RunID: first.RunID})
		var stale *turns.StaleError
		require.ErrorAs(t, err, &stale)
		require.Equal(t, first.RunID, id)
		require.Equal(t, subjects.ReasonDone, stale.End.Reason)
		f.end(first.RunID)
	}
	second := f.send("c", runs.Reject)
	_, err = f.queue.Stop(t.Context(), turns.StopRequest{ChatID: "c", RunID: first.RunID})
	require.Error(t, err)
	require.True(t, f.entry(second.RunID).Active(), "never another run")
}

// A run that has not begun ends at once, and never begins.
func TestSTOP02_BeforeTheStart(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	sent := f.send("c", runs.Reject)
	_, err := f.queue.Stop(t.Context(), turns.StopRequest{ChatID: "c", RunID: sent.RunID})
	require.NoError(t, err)
	require.Equal(t, subjects.ReasonStopped, f.entry(sent.RunID).End.Reason)
	require.ErrorIs(t, f.begin(sent.RunID, false), errBegun)
	last, err := f.store.Last(t.Context(), sent.RunID)
	require.NoError(t, err)
	require.NotNil(t, last.End())
	f.send("c", runs.Reject)
}

// A stop and a worker at the very same moment: the run is ended by the stop and never
// begins, or has begun and is for its producer to end.
func TestSTOP02_CrossingTheStart(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	other := f.another()
	var both [2]int
	for round := range 100 {
		sent := f.send("c", runs.Supersede)
		var begun atomic.Bool
		atOnce(2, func(i int) {
			if i == 0 {
				for from := time.Now(); time.Since(from) < time.Duration(round)*20*time.Microsecond; {
				} // so that it falls between any two steps of the other
				err := f.begin(sent.RunID, false)
				begun.Store(err == nil)
				if err != nil && !errors.Is(err, errBegun) {
					t.Error(err)
				}
			} else if _, err := other.Stop(t.Context(), turns.StopRequest{ChatID: "c", RunID: sent.RunID}); err != nil {
				t.Error(err)
			}
		})
		require.Equal(t, begun.Load(), f.entry(sent.RunID).Active())
		if begun.Load() {
			both[0]++
		} else {
			both[1]++
		}
		_, err := f.store.Control(t.Context(), sent.RunID, runs.ControlStop, "")
		require.NoError(t, err)
	}
	t.Log("begun, stopped:", both)
}
