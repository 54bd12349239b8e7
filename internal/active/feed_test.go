package active_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/active"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

func TestASnapshotAndThenWhatChanges(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	over := f.start("", "over")
	f.end(over)
	first, second := f.start("", "a"), f.start("", "b")
	s := f.subscribe("")
	s.shows(second, first)
	require.JSONEq(t, fmt.Sprintf(`{"run_id":%q,"chat_id":"a","kind":"send","state":"running","started_at":%q}`,
		first.RunID, first.StartedAt.Format(time.RFC3339Nano)), string(s.Runs[1].JSON()))

	f.alter(first, func(e *runs.Entry) { e.Seq = 7 }) // of no interest here
	f.alter(first, func(e *runs.Entry) { e.Questions = []runs.Question{{RequestID: "q"}} })
	s.want(first, runs.StateWaiting)
	f.alter(first, func(e *runs.Entry) { e.Questions = nil })
	s.want(first, runs.StateRunning)
	f.alter(first, func(e *runs.Entry) { e.State = runs.StateFinishing })
	s.want(first, runs.StateFinishing)
	f.end(first)
	ended := s.want(first, runs.StateEnded)
	require.Equal(t, &saved, ended.End)
	var wire map[string]any
	require.NoError(t, json.Unmarshal(ended.JSON(), &wire))
	require.Equal(t, true, wire["persisted"])
	require.Equal(t, "done", wire["reason"])

	third := f.start("", "b") // takes the chat from the second
	s.want(third, runs.StateRunning)
	require.Equal(t, third.RunID, s.want(second, runs.StateEnded).NextRunID)
	require.NoError(t, f.store.Evict(t.Context(), first.RunID))
	fourth := f.start("", "d")
	s.want(fourth, runs.StateRunning)
	f.subscribe("").shows(fourth, third)
	require.Zero(t, f.consumers())
}

func TestARealmSeesItsOwnRunsOnly(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	realms := []subjects.Realm{"", "t", "t=u", "t=v"}
	var first []*runs.Entry
	for _, r := range realms {
		first = append(first, f.start(r, "c"))
	}
	var subs []*subscription
	for i, r := range realms {
		subs = append(subs, f.subscribe(r))
		subs[i].shows(first[i])
	}
	for i := range realms {
		f.end(first[i])
		subs[i].want(first[i], runs.StateEnded)
	}
	for i, r := range realms {
		subs[i].want(f.start(r, "c"), runs.StateRunning)
	}
}

// A run that ended with a question waits for its answer, until its chat goes on or it
// leaves.
func TestAnEndedRunWaitsForItsAnswer(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	s := f.subscribe("")
	ask := func(chat string) *runs.Entry {
		e := f.start("", chat)
		s.want(e, runs.StateRunning)
		f.alter(e, func(e *runs.Entry) {
			e.State, e.End, e.Questions = runs.StateEnded, &saved, []runs.Question{{RequestID: "q", Interrupt: true}}
		})
		s.want(e, runs.StateWaiting)
		return e
	}
	a := ask("a")
	again := f.subscribe("")
	again.shows(a)
	require.Nil(t, again.Runs[0].End)
	next := f.start("", "a")
	s.want(next, runs.StateRunning)
	require.Equal(t, &saved, s.want(a, runs.StateEnded).End)

	b := ask("b")
	require.NoError(t, f.store.Evict(t.Context(), b.RunID))
	s.want(b, runs.StateEnded)
	f.subscribe("").shows(next)
}

// What the broker did not republish is found by reading, also what began and ended
// meanwhile, and what was taken away.
func TestWhatWasMissedIsRead(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *active.Config) { c.Reread = time.Millisecond })
	first, queued := f.start("", "a"), f.start("", "q")
	f.alter(queued, func(e *runs.Entry) { e.State = runs.StateQueued })
	s := f.subscribe("")
	s.shows(queued, first)
	f.silence()
	f.end(first)
	require.Equal(t, &saved, s.want(first, runs.StateEnded).End)
	short := f.start("", "b")
	f.end(short)
	for {
		if r, err := s.next(); err != nil || r.State == runs.StateEnded {
			require.NoError(t, err)
			require.Equal(t, short.RunID, r.RunID)
			break
		}
	}
	require.NoError(t, f.store.Discard(t.Context(), queued.RunID))
	require.Nil(t, s.want(queued, runs.StateEnded).End)
	f.subscribe("").shows()
}

// After a reconnect everything is read at once, whatever the time until the next read.
func TestWhatWasMissedWhileAwayIsRead(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *active.Config) { c.Reread = time.Hour })
	first := f.start("", "a")
	s := f.subscribe("")
	f.line.Refuse(true)
	f.line.Cut()
	require.Eventually(t, func() bool {
		_, err := f.feed.Subscribe(t.Context(), "")
		return err != nil
	}, patience, time.Millisecond)
	_, err := f.feed.Subscribe(t.Context(), "")
	require.ErrorIs(t, err, active.ErrUnavailable)
	f.end(first)
	second := f.start("", "b")
	f.line.Refuse(false)
	s.want(first, runs.StateEnded)
	s.want(second, runs.StateRunning)
}

func TestTheFirstWaitsNoLongerThanItsPatience(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *active.Config) { c.Patience = 10 * time.Millisecond })
	release := f.line.Hold(0)
	_, err := f.feed.Subscribe(t.Context(), "")
	require.ErrorIs(t, err, active.ErrUnavailable)
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := fmt.Errorf("gone")
	cancel(gone)
	_, err = f.feed.Subscribe(ctx, "")
	require.Error(t, err)
	release()
	require.Eventually(t, func() bool {
		s, err := f.feed.Subscribe(t.Context(), "")
		if err == nil {
			s.Close()
		}
		return err == nil
	}, patience, time.Millisecond)
}

// Nothing is kept when nobody asks: no subscription, and no goroutine.
func TestItEndsWithTheLast(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *active.Config) { c.Grace = time.Millisecond })
	nc := f.far.Conn()
	before := nc.NumSubscriptions()
	for range 3 {
		a, err := f.feed.Subscribe(t.Context(), "")
		require.NoError(t, err)
		b, err := f.feed.Subscribe(t.Context(), "t")
		require.NoError(t, err)
		a.Close()
		a.Close()
		require.Greater(t, nc.NumSubscriptions(), before)
		b.Close()
		require.Eventually(t, func() bool { return nc.NumSubscriptions() == before }, patience, time.Millisecond)
	}
	f.feed.Close()
	f.feed.Close()
	_, err := f.feed.Subscribe(t.Context(), "")
	require.ErrorIs(t, err, active.ErrClosed)
}

func TestClosingEndsSubscriptions(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	s := f.subscribe("")
	go f.feed.Close()
	_, err := s.next()
	require.ErrorIs(t, err, active.ErrClosed)
}

// Whoever takes nothing falls behind, and costs the others nothing.
func TestASubscriberThatFallsBehind(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *active.Config) { c.Backlog = 8 })
	stalled, healthy, elsewhere := f.subscribe(""), f.subscribe(""), f.subscribe("t")
	for i := range 20 {
		e := f.start("", fmt.Sprint(i))
		healthy.want(e, runs.StateRunning)
		f.end(e)
		healthy.want(e, runs.StateEnded)
	}
	_, err := stalled.Take(1)
	require.ErrorIs(t, err, active.ErrBehind)
	changed, err := elsewhere.Take(1)
	require.NoError(t, err)
	require.Empty(t, changed)
	stalled.Close()
	healthy.want(f.start("", "c"), runs.StateRunning)
}

func TestABoundedSnapshot(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *active.Config) { c.MaxRuns = 2 })
	old := f.start("", "a")
	second, third := f.start("", "b"), f.start("", "c")
	s := f.subscribe("")
	s.shows(third, second)
	require.True(t, s.Truncated)
	f.end(old)
	s.want(old, runs.StateEnded)
	f.end(second)
	s.want(second, runs.StateEnded)
	require.False(t, f.subscribe("").Truncated)
}
