package turns_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/subjects"
)

func (f *fabric) steer(i int) (turns.Sent, error) {
	r := message("c", "")
	r.Input = text(i)
	return f.queue.Steer(f.Context(), r)
}

func (f *fabric) inputs(id subjects.RunID) (bodies []string) {
	f.Helper()
	all, err := f.store.Controls(f.Context(), id, 0)
	require.NoError(f, err)
	for i, c := range all {
		require.Equal(f, runs.ControlInput, c.Kind)
		require.Equal(f, i+1, c.Input())
		if !c.Closed {
			bodies = append(bodies, string(c.Body))
		}
	}
	return bodies
}

func TestSteerWhereItIsTaken(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	first, err := f.steer(0)
	require.NoError(t, err)
	require.False(t, first.Steered, "an idle chat: a turn like any other")
	require.Equal(t, turns.KindSteer, f.entry(first.RunID).Kind)
	early, err := f.steer(1)
	require.NoError(t, err)
	require.True(t, early.Steered, "a part of what is asked")
	require.Equal(t, first.RunID, early.RunID)
	require.Equal(t, first.TurnID, early.TurnID)
	require.NoError(t, f.begin(first.RunID, true))
	late, err := f.steer(2)
	require.NoError(t, err)
	require.True(t, late.Steered)
	require.Equal(t, []string{`{"text":"1"}`, `{"text":"2"}`}, f.inputs(first.RunID))

	_, err = f.store.CloseInputs(t.Context(), first.RunID, 0)
	require.NoError(t, err)
	next, err := f.steer(3)
	require.NoError(t, err)
	require.False(t, next.Steered)
	require.NotEqual(t, first.RunID, next.RunID)
	require.Equal(t, subjects.ReasonSuperseded, f.entry(first.RunID).End.Reason)

	// An agent that takes none: the run is replaced.
	require.NoError(t, f.begin(next.RunID, false))
	third, err := f.steer(4)
	require.NoError(t, err)
	require.False(t, third.Steered)
	require.NotEqual(t, next.RunID, third.RunID)
	turn, err := f.queue.Turn(t.Context(), third.RunID)
	require.NoError(t, err)
	require.JSONEq(t, `{"text":"4"}`, string(turn.Input))

	r := message("c", "")
	r.Kind = turns.KindHeartbeat
	require.NoError(t, f.begin(third.RunID, false))
	_, err = f.queue.Steer(t.Context(), r)
	require.ErrorIs(t, err, runs.ErrAlreadyStreaming, "a heartbeat never supersedes")
}

// What does not fit into one message is a turn of its own.
func TestSteerWithMuch(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	first := f.send("c", runs.Reject)
	require.NoError(t, f.begin(first.RunID, true))
	r := message("c", "")
	r.Input = fmt.Appendf(nil, `{"text":"%s"}`, strings.Repeat("<", 900<<10))
	sent, err := f.queue.Steer(t.Context(), r)
	require.NoError(t, err)
	require.True(t, sent.Steered, "it fits")
	r.Input = fmt.Appendf(nil, `{"text":"%s"}`, strings.Repeat("<", 1<<20))
	sent, err = f.queue.Steer(t.Context(), r)
	require.NoError(t, err)
	require.False(t, sent.Steered)
	turn, err := f.queue.Turn(t.Context(), sent.RunID)
	require.NoError(t, err)
	require.Equal(t, len(r.Input), len(turn.Input))
}

// Fifty messages at once, from two processes: each has one place.
func TestSteerAtOnce(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	queues := []*turns.Queue{f.queue, f.another()}
	first := f.send("c", runs.Reject)
	require.NoError(t, f.begin(first.RunID, true))
	atOnce(50, func(i int) {
		r := message("c", "")
		r.Input, r.ClientToken = text(i), fmt.Sprint("token", i)
		for n := range 2 {
			sent, err := queues[i%2].Steer(t.Context(), r)
			if err != nil || !sent.Steered || sent.Repeated != (n == 1) {
				t.Error(i, n, sent, err)
			}
		}
	})
	seen := map[string]bool{}
	for _, b := range f.inputs(first.RunID) {
		require.False(t, seen[b], "twice")
		seen[b] = true
	}
	require.Len(t, seen, 50)
}

// A message crosses the end of its run: the run has it, or another turn.
func TestSteerCrossingTheEnd(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	other := f.another()
	for range 40 {
		run := f.send("c", runs.Supersede)
		require.NoError(t, f.begin(run.RunID, true))
		var sent turns.Sent
		var missed []runs.Control
		atOnce(2, func(i int) {
			var err error
			if i == 0 {
				if missed, err = f.store.CloseInputs(t.Context(), run.RunID, 0); err == nil {
					_, err = f.store.EndRun(t.Context(), run.RunID, subjects.End{Reason: subjects.ReasonDone})
				}
			} else {
				r := message("c", "")
				r.Input = text(7)
				sent, err = other.Steer(t.Context(), r)
			}
			if err != nil {
				t.Error(err)
			}
		})
		require.Equal(t, sent.Steered, len(missed) == 1)
		require.Equal(t, sent.Steered, sent.RunID == run.RunID)
		if !sent.Steered {
			turn, err := f.queue.Turn(t.Context(), sent.RunID)
			require.NoError(t, err)
			require.JSONEq(t, `{"text":"7"}`, string(turn.Input))
		}
	}
}

// Somebody else ends a run: no message for it is accepted from then on.
func TestSteerARunThatSomebodyEnded(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	run := f.send("c", runs.Reject)
	require.NoError(t, f.begin(run.RunID, true))
	_, err := f.steer(1)
	require.NoError(t, err)
	f.end(run.RunID)
	c, won, err := f.store.PutControl(t.Context(), run.RunID, runs.Control{Kind: runs.ControlInput, ID: "2", Body: json.RawMessage(`{}`)})
	require.NoError(t, err)
	require.False(t, won)
	require.True(t, c.Closed)
}

// A repetition after the run that took the message has ended is no new turn.
func TestSteerRepeatedAfterTheEnd(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	run := f.send("c", runs.Reject)
	require.NoError(t, f.begin(run.RunID, true))
	r := message("c", "")
	r.ClientToken = "t"
	sent, err := f.queue.Steer(t.Context(), r)
	require.NoError(t, err)
	require.True(t, sent.Steered)
	f.end(run.RunID)
	again, err := f.queue.Steer(t.Context(), r)
	require.NoError(t, err)
	require.True(t, again.Steered && again.Repeated)
	require.Equal(t, run.RunID, again.RunID)
	require.Equal(t, run.RunID, f.pointer("c").RunID)
}

func TestSteerIsBounded(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	run := f.send("c", runs.Reject)
	require.NoError(t, f.begin(run.RunID, true))
	var wg sync.WaitGroup
	for n := 1; n <= 256; n++ {
		wg.Go(func() {
			_, _, err := f.store.PutControl(t.Context(), run.RunID, runs.Control{Kind: runs.ControlInput, ID: fmt.Sprint(n), Body: text(n)})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	_, err := f.steer(1)
	require.ErrorIs(t, err, turns.ErrQueueFull)
}
