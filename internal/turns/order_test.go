package turns_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/subjects"
)

// twice ends a run from many sides at once.
func (f *fabric) twice(id subjects.RunID) {
	f.Helper()
	atOnce(4, func(i int) {
		if i%2 == 0 {
			if _, err := f.store.EndRun(f.Context(), id, subjects.End{Reason: subjects.ReasonDone}); err != nil {
				f.Error(err)
			}
		} else if err := f.store.Promote(f.Context(), "", "c"); err != nil {
			f.Error(err)
		}
	})
}

func TestSEND02TwentySendsThatSupersede(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	queues := []*turns.Queue{f.queue, f.another()}
	atOnce(20, func(i int) {
		r := message("c", "")
		r.Kind = []string{turns.KindRetry, turns.KindEdit}[i%2]
		if _, err := queues[i%2].Send(t.Context(), r); err != nil {
			t.Error(err)
		}
	})
	p := f.pointer("c")
	require.EqualValues(t, 20, p.Generation)
	byGeneration := map[uint64]*runs.Entry{}
	for _, id := range f.waiting() {
		e := f.entry(id)
		byGeneration[e.Generation] = e
	}
	require.Len(t, byGeneration, 20)
	for g := uint64(1); g < 20; g++ {
		e := byGeneration[g]
		require.NotNil(t, e.End)
		require.Equal(t, subjects.End{Superseded: true, Reason: subjects.ReasonSuperseded, NextRunID: byGeneration[g+1].RunID}, *e.End)
		require.ErrorIs(t, f.begin(e.RunID, false), errBegun, "it never begins")
	}
	require.Equal(t, p.RunID, byGeneration[20].RunID)
	require.True(t, byGeneration[20].Active())
}

func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	f.send("c", runs.Reject)
	for range subjects.MaxQueuedTurns {
		require.True(t, f.send("c", runs.Behind).Behind)
	}
	_, err := f.queue.Send(t.Context(), message("c", runs.Behind))
	require.ErrorIs(t, err, turns.ErrQueueFull)
	require.Len(t, f.pointer("c").Queue, subjects.MaxQueuedTurns)
	_, err = f.queue.Send(t.Context(), message("c", runs.Reject))
	require.ErrorIs(t, err, runs.ErrAlreadyStreaming)
}

// A run that ends while another is being put behind it leaves nobody who would look.
func TestTurnQueuedBehindARunThatEnds(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	other := f.another()
	for i := range 100 {
		chat := fmt.Sprint(i)
		first := f.send(chat, runs.Reject)
		require.NoError(t, f.begin(first.RunID, false))
		var next turns.Sent
		atOnce(2, func(k int) {
			var err error
			if k == 0 {
				next, err = other.Send(t.Context(), message(chat, runs.Behind))
			} else {
				_, err = f.store.EndRun(t.Context(), first.RunID, subjects.End{Reason: subjects.ReasonDone})
			}
			if err != nil {
				t.Error(err)
			}
		})
		p := f.pointer(chat)
		require.Equal(t, next.RunID, p.RunID, "nobody waits for a janitor")
		require.Empty(t, p.Queue)
		require.Contains(t, f.waiting(), next.RunID)
	}
}

// A queued turn that somebody meant to promote when the chat was superseded still is
// one that waits, and not one that was replaced.
func TestQueuedTurnIsNotTakenForReplaced(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	f.send("c", runs.Reject)
	r := message("c", runs.Behind)
	r.ClientToken = "t"
	behind, err := f.queue.Send(t.Context(), r)
	require.NoError(t, err)
	// A Promote that died between its two steps, or lost to a supersede.
	_, err = f.store.ChangeEntry(t.Context(), behind.RunID, func(e *runs.Entry) error {
		e.Generation = 2
		return nil
	})
	require.NoError(t, err)
	var last turns.Sent
	for range 3 {
		last = f.send("c", runs.Supersede)
	}
	j := runs.NewJanitor(f.store, runs.JanitorConfig{Lease: time.Nanosecond})
	for range 3 {
		f.sweep(j)
	}
	require.True(t, f.entry(behind.RunID).Active())
	again, err := f.queue.Send(t.Context(), r)
	require.NoError(t, err)
	require.True(t, again.Behind)
	require.NotContains(t, f.waiting(), behind.RunID, "its time has not come")
	f.end(last.RunID)
	require.Equal(t, behind.RunID, f.pointer("c").RunID)
	require.EqualValues(t, 5, f.pointer("c").Generation)
	require.Contains(t, f.waiting(), behind.RunID)
}

// 10 MiB go in and come out as they were, and leave whole.
func TestLargeInputs(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	q := turns.New(f.store, turns.Config{MaxInput: 10 << 20})
	input := []byte(`{"text":"`)
	for i := 0; len(input) < 10<<20-2; i++ {
		input = append(input, "<&>é0123456789"[i%14]&0x7f)
	}
	input = append(bytes.ToValidUTF8(input, nil), `"}`...)
	input = append(input[:9], append(bytes.Map(func(r rune) rune {
		if r < ' ' || r == '"' || r == '\\' {
			return '_'
		}
		return r
	}, input[9:len(input)-2]), `"}`...)...)
	sent, err := q.Send(t.Context(), turns.SendRequest{ChatID: "c", Input: input})
	require.NoError(t, err)
	require.Greater(t, f.keys(sent.RunID), 10)
	turn, err := q.Turn(t.Context(), sent.RunID)
	require.NoError(t, err)
	require.True(t, bytes.Equal(input, turn.Input))
	require.NoError(t, f.begin(sent.RunID, false))
	f.end(sent.RunID)
	_, _, err = f.store.PutControl(t.Context(), sent.RunID, runs.Control{Kind: runs.ControlStop})
	require.NoError(t, err)
	f.sweep(runs.NewJanitor(f.store, runs.JanitorConfig{Retention: time.Nanosecond}))
	require.Zero(t, f.keys(sent.RunID))
	_, err = q.Turn(t.Context(), sent.RunID)
	require.ErrorIs(t, err, turns.ErrNotFound)
	require.Empty(t, f.pointer("c").RunID)
}

// Nothing is evicted over the heads of those who wait.
func TestEvictionKeepsTheQueue(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	first := f.send("c", runs.Reject)
	second := f.send("c", runs.Behind)
	third := f.send("c", runs.Behind)
	// It ends as when whoever ended it died before anything else.
	r := subjects.EndRecord(subjects.End{Reason: subjects.ReasonDone}, 0, "w")
	_, err := f.store.Append(t.Context(), first.RunID, &r, f.entry(first.RunID).FirstStreamSeq)
	require.NoError(t, err)
	_, err = f.store.ChangeEntry(t.Context(), first.RunID, func(e *runs.Entry) error {
		e.State, e.End, e.EndedAt = runs.StateEnded, &subjects.End{Reason: subjects.ReasonDone}, time.Now()
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, f.store.Evict(t.Context(), first.RunID))
	p := f.pointer("c")
	require.Equal(t, second.RunID, p.RunID)
	require.Equal(t, []subjects.RunID{third.RunID}, p.Queue)
	require.Contains(t, f.waiting(), second.RunID)
	_, err = f.store.Entry(t.Context(), first.RunID)
	require.ErrorIs(t, err, runs.ErrNotFound)
}

// Every kind of end gives the next turn its time.
func TestEveryEndPromotes(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	for name, end := range map[string]func(subjects.RunID){
		"done": f.end,
		"sealed": func(id subjects.RunID) {
			_, err := f.store.Seal(t.Context(), id, subjects.End{}, 0)
			require.NoError(t, err)
		},
		"janitor": func(id subjects.RunID) {
			require.NoError(t, f.begin(id, false)) // and its producer is nowhere
			f.sweepUntil(runs.NewJanitor(f.store, runs.JanitorConfig{Lease: time.Millisecond}), func() bool { return !f.entry(id).Active() })
		},
		"unclaimed": func(id subjects.RunID) {
			f.sweepUntil(runs.NewJanitor(f.store, runs.JanitorConfig{TurnTTL: time.Millisecond}), func() bool { return !f.entry(id).Active() })
		},
		"stopped": func(id subjects.RunID) {
			_, err := f.queue.Stop(t.Context(), turns.StopRequest{ChatID: f.entry(id).ChatID, RunID: id})
			require.NoError(t, err)
		},
	} {
		first := f.send(name, runs.Reject)
		middle, last := f.send(name, runs.Behind), f.send(name, runs.Behind)
		_, err := f.queue.Stop(t.Context(), turns.StopRequest{ChatID: name, RunID: middle.RunID})
		require.NoError(t, err, name)
		require.Equal(t, []subjects.RunID{last.RunID}, f.pointer(name).Queue, name)
		require.False(t, f.entry(middle.RunID).Active())
		end(first.RunID)
		p := f.pointer(name)
		require.Equal(t, last.RunID, p.RunID, name)
		require.Empty(t, p.Queue, name)
		require.True(t, slices.Contains(f.waiting(), last.RunID) || name == "unclaimed", name)
	}
}

// A send whose context ends at any moment is either made or not, and its repetition is
// one run.
func TestSendThatIsCancelled(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	other := f.another()
	for i := range 60 {
		chat := fmt.Sprint(i)
		r := message(chat, runs.Reject)
		r.ClientToken = "t"
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*100*time.Microsecond)
		first, err := other.Send(ctx, r)
		cancel()
		sent, again := f.queue.Send(t.Context(), r)
		require.NoError(t, again, "cancelled with %v", err)
		if err == nil {
			require.Equal(t, first.RunID, sent.RunID)
		}
		require.Equal(t, sent.RunID, f.pointer(chat).RunID)
		require.Contains(t, f.waiting(), sent.RunID)
	}
	j := runs.NewJanitor(f.store, runs.JanitorConfig{Lease: time.Nanosecond, Tidy: time.Nanosecond})
	for range 3 {
		f.sweep(j)
	}
	for i := range 60 {
		p := f.pointer(fmt.Sprint(i))
		require.True(t, f.entry(p.RunID).Active())
	}
}
