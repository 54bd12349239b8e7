package turns_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/subjects"
)

// asking begins a run and notes questions that it asks, as its writer does.
func (f *fabric) asking(chat string, questions ...runs.Question) subjects.RunID {
	f.Helper()
	sent := f.send(chat, runs.Supersede)
	require.NoError(f, f.begin(sent.RunID, true))
	_, err := f.store.ChangeEntry(f.Context(), sent.RunID, func(e *runs.Entry) error {
		for _, q := range questions {
			if q.Name == "" {
				q.Name = "q"
			}
			require.True(f, e.Ask(q))
		}
		return nil
	})
	require.NoError(f, err)
	return sent.RunID
}

func answer(chat string, id subjects.RunID, request, outcome string) turns.AnswerRequest {
	return turns.AnswerRequest{ChatID: chat, RunID: id, RequestID: request, Outcome: json.RawMessage(outcome)}
}

func TestAPP03_FirstAnswerWins(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	queues := []*turns.Queue{f.queue, f.another()}
	id := f.asking("c", runs.Question{RequestID: "r", Options: []string{"yes", "no"}})
	var mu sync.Mutex
	said := map[string]int{} // who was told what the answer is
	atOnce(50, func(i int) {
		mine := fmt.Sprintf(`{"outcome":"selected","optionId":%q}`, []string{"yes", "no"}[i%2])
		_, err := queues[i/2%2].Answer(t.Context(), answer("c", id, "r", mine))
		var other *turns.AnsweredError
		if errors.As(err, &other) {
			require.ErrorIs(t, err, turns.ErrAnswered)
			mine, err = string(other.Outcome), nil
		}
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		said[mine]++
	})
	require.Len(t, said, 1, "one answer, and everyone knows which")
	c, err := f.store.Control(t.Context(), id, runs.ControlAnswer, "r")
	require.NoError(t, err)
	require.Equal(t, 50, said[string(c.Body)])

	// The run has taken it and gone on, and ended: a repetition is told the same.
	_, err = f.store.ChangeEntry(t.Context(), id, func(e *runs.Entry) error { e.Resolve("r"); return nil })
	require.NoError(t, err)
	for range 2 {
		_, err = f.queue.Answer(t.Context(), answer("c", id, "r", " "+strings.Replace(string(c.Body), ":", " :\n", 1)))
		require.NoError(t, err, "the same means the same")
		_, err = f.queue.Answer(t.Context(), answer("c", id, "r", `{"outcome":"cancelled"}`))
		require.ErrorIs(t, err, turns.ErrAnswered)
		f.end(id)
	}
}

func TestAPP03_AnswersThatComeTooLateOrNowhere(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	id := f.asking("c", runs.Question{RequestID: "r", Options: []string{"yes"}}, runs.Question{RequestID: "closed"})
	_, err := f.store.CloseQuestion(t.Context(), id, "closed", "timeout")
	require.NoError(t, err)
	for name, a := range map[string]turns.AnswerRequest{
		"another chat":    answer("d", id, "r", `{}`),
		"another tenant":  {Realm: "t", ChatID: "c", RunID: id, RequestID: "r", Outcome: json.RawMessage(`{}`)},
		"another request": answer("c", id, "x", `{}`),
		"no request":      answer("c", id, "", `{}`),
		"long request":    answer("c", id, strings.Repeat("x", 257), `{}`),
		"no run":          answer("c", "what>", "r", `{}`),
		"closed":          answer("c", id, "closed", `{}`),
	} {
		_, err := f.queue.Answer(t.Context(), a)
		require.ErrorIs(t, err, turns.ErrNotFound, name)
	}
	_, err = f.queue.Answer(t.Context(), answer("c", id, "r", `{"outcome":"selected","optionId":"no"}`))
	require.ErrorIs(t, err, turns.ErrOptions)
	_, err = f.store.Control(t.Context(), id, runs.ControlAnswer, "r")
	require.ErrorIs(t, err, runs.ErrNotFound, "a bad answer is none")
	f.end(id)
	_, err = f.queue.Answer(t.Context(), answer("c", id, "r", `{"outcome":"selected","optionId":"yes"}`))
	require.ErrorIs(t, err, turns.ErrNotFound, "the run is over")
}

func TestAnswerLargerThanAMessage(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{MaxPayload: 64 << 10})
	id := f.asking("c", runs.Question{RequestID: "r", MessageID: "m"})
	_, err := f.queue.Answer(t.Context(), answer("c", id, "r", fmt.Sprintf(`{"a":%q}`, strings.Repeat("x", 64<<10))))
	require.ErrorIs(t, err, turns.ErrOptions)
	_, err = f.queue.Answer(t.Context(), answer("c", id, "r", fmt.Sprintf(`{"a":%q}`, strings.Repeat("<", 32<<10))))
	require.NoError(t, err)
	f.end(id) // with what was answered and never told, in two events of that size
	require.False(t, f.entry(id).Active())
	page, err := f.store.Page(t.Context(), id, 0)
	require.NoError(t, err)
	require.Len(t, page, 3, "start, last words, end")
	require.Contains(t, string(page[1].Body), `"status":"answered"`)
}

// Two interrupts: the next turn starts with the second answer, once.
func TestInterruptsAreResumedOnce(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	other := f.another()
	id := f.asking("c", runs.Question{Name: runs.InterruptName, RequestID: "a", Interrupt: true},
		runs.Question{Name: runs.InterruptName, RequestID: "b", Interrupt: true})
	f.end(id)
	require.Equal(t, runs.StateWaiting, f.entry(id).Doing())
	got, err := f.queue.Answer(t.Context(), answer("c", id, "a", `{"approved":true}`))
	require.NoError(t, err)
	require.Empty(t, got.Next)
	require.Equal(t, id, f.pointer("c").RunID)
	var mu sync.Mutex
	next := map[subjects.RunID]bool{}
	atOnce(8, func(i int) {
		a := answer("c", id, "b", `{"outcome":"cancelled"}`)
		if i%2 == 0 {
			a = answer("c", id, "a", `{"approved":true}`)
		}
		got, err := []*turns.Queue{f.queue, other}[i%2].Answer(t.Context(), a)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if got.Next != "" {
			next[got.Next] = true
		}
	})
	require.Len(t, next, 1)
	p := f.pointer("c")
	require.True(t, next[p.RunID])
	require.Empty(t, p.Queue)
	require.Equal(t, turns.KindApproval, f.entry(p.RunID).Kind)
	turn, err := f.queue.Turn(t.Context(), p.RunID)
	require.NoError(t, err)
	require.JSONEq(t, `{"text":"hi","resume":[{"interruptId":"a","status":"resolved","payload":{"approved":true}},{"interruptId":"b","status":"cancelled"}]}`, string(turn.Input))

	// A repetition long after is told the same, or that it is over; it starts nothing.
	for i := range 20 {
		got, err := f.queue.Answer(t.Context(), answer("c", id, "a", `{"approved":true}`))
		if err == nil {
			require.Equal(t, p.RunID, got.Next)
		} else {
			require.ErrorIs(t, err, turns.ErrNotFound)
			require.Greater(t, i, 10)
		}
		r := message("c", runs.Supersede)
		r.ClientToken = fmt.Sprint(i)
		_, err = f.queue.Send(t.Context(), r)
		require.NoError(t, err)
	}
	require.EqualValues(t, 22, f.pointer("c").Generation)
}

// Of those who give an interrupt the same answer at the same moment one makes the chat go
// on; none is told that there is no such question.
func TestSameAnswerOfManyAtOnce(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	queues := []*turns.Queue{f.queue, f.another()}
	for round := range 40 {
		chat := fmt.Sprint(round)
		id := f.asking(chat, runs.Question{Name: runs.InterruptName, RequestID: "a", Interrupt: true})
		f.end(id)
		var next [4]subjects.RunID
		atOnce(len(next), func(i int) {
			for from := time.Now(); time.Since(from) < time.Duration(i*round)*20*time.Microsecond; {
			} // so that one falls between any two steps of another
			got, err := queues[i%2].Answer(t.Context(), answer(chat, id, "a", `{"approved":true}`))
			if err != nil {
				t.Error(err)
			}
			next[i] = got.Next
		})
		for _, n := range next {
			require.Equal(t, f.pointer(chat).RunID, n)
		}
	}
}

// The answer was stored and whoever stored it died: the chat goes on without it.
func TestInterruptWhoseChatHasGoneOn(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	interrupt := runs.Question{Name: runs.InterruptName, RequestID: "a", Interrupt: true}
	id := f.asking("c", interrupt)
	f.end(id)
	died := errors.New("died")
	a := answer("c", id, "a", `{}`)
	a.Resume = func(context.Context, *turns.Turn, []turns.Resume) (json.RawMessage, error) { return nil, died }
	_, err := f.queue.Answer(t.Context(), a)
	require.ErrorIs(t, err, died)
	next := f.send("c", runs.Reject)
	_, err = f.queue.Answer(t.Context(), answer("c", id, "a", `{}`))
	require.ErrorIs(t, err, turns.ErrNotFound)
	require.Equal(t, next.RunID, f.pointer("c").RunID)

	// Without that the repetition makes good.
	id = f.asking("d", interrupt)
	f.end(id)
	a.ChatID, a.RunID = "d", id
	_, err = f.queue.Answer(t.Context(), a)
	require.ErrorIs(t, err, died)
	got, err := f.queue.Answer(t.Context(), answer("d", id, "a", `{}`))
	require.NoError(t, err)
	require.Equal(t, got.Next, f.pointer("d").RunID)
}

// An ended run that waits for an answer stays while its chat's pointer names it.
func TestWaitingRunIsKept(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	id := f.asking("c", runs.Question{Name: runs.InterruptName, RequestID: "a", Interrupt: true})
	f.end(id)
	j := runs.NewJanitor(f.store, runs.JanitorConfig{Retention: time.Nanosecond, MaxEndedPerOwner: 1})
	for range 3 {
		f.sweep(j)
	}
	require.Equal(t, runs.StateWaiting, f.entry(id).Doing())
	next := f.send("c", runs.Reject)
	f.sweep(j)
	_, err := f.store.Entry(t.Context(), id)
	require.ErrorIs(t, err, runs.ErrNotFound, "nobody can answer it any more")
	require.True(t, f.entry(next.RunID).Active())
}
