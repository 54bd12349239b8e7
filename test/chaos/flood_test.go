package chaos_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/producer/worker"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// flood does something n times, thirty-two at once, and counts what it came to.
func flood[T comparable](n int, do func(i int) T) map[T]int {
	var mu sync.Mutex
	var next atomic.Int64
	all := map[T]int{}
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for i := int(next.Add(1)); i <= n; i = int(next.Add(1)) {
				got := do(i)
				mu.Lock()
				all[got]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return all
}

// Two thousand controls for one run: the first answer and the first stop count, as many
// messages as may be are taken, and the others are told so.
func TestControlFlood(t *testing.T) {
	t.Parallel()
	w := newWorld(t, harness.Config{})
	got, heard := make(chan agent.Answer, 1), make(chan int, 1)
	w.Worker(hearing(func(ctx context.Context, t agent.Turn) error {
		a, err := t.Ask(ctx, agent.Question{Name: "test.permission", Options: []string{"yes", "no"}})
		got <- a
		if err != nil {
			return err
		}
		<-ctx.Done()
		heard <- len(t.Steering())
		return context.Cause(ctx)
	}), worker.Config{})
	id := w.send("c", "ask", runs.Reject)
	request := w.question(id)
	answers := flood(800, func(i int) int {
		return w.answer(i%2, "c", id, request, []string{yes, no}[i/2%2]).Status
	})
	require.Len(t, answers, 2, "%v", answers)
	require.Equal(t, 800, answers[http.StatusOK]+answers[http.StatusConflict], "%v", answers)
	c, err := w.own.Store.Control(w.within(), id, runs.ControlAnswer, request)
	require.NoError(t, err)
	require.Equal(t, string(c.Body), string((<-got).Outcome))

	messages := flood(400, func(i int) int {
		return w.post(i%2, "/chat/steer-send", fields{"chat_id": "c", "input": text(fmt.Sprint(i))}).Status
	})
	// On a busy machine a message may not find its place among so many in time.
	require.LessOrEqual(t, messages[http.StatusAccepted], 256)
	require.Equal(t, 400, messages[http.StatusAccepted]+messages[http.StatusTooManyRequests]+messages[http.StatusServiceUnavailable], "%v", messages)
	stops := flood(800, func(i int) int {
		return w.post(i%2, "/chat/stop", fields{"chat_id": "c", "run_id": id}).Status
	})
	require.Positive(t, stops[http.StatusAccepted])
	require.Equal(t, 800, stops[http.StatusAccepted]+stops[http.StatusConflict], "%v", stops)
	require.Equal(t, subjects.End{Persisted: true, Reason: subjects.ReasonStopped}, w.ended(id))
	require.Positive(t, <-heard)
}

// Five hundred turns in a hundred chats, and one worker for all: each is answered once, in its
// chat's order, and saved.
func TestTurnFlood(t *testing.T) {
	t.Parallel()
	w := newWorld(t, harness.Config{})
	b := newBook()
	runsOf := make([][]subjects.RunID, 100)
	var wg sync.WaitGroup
	for chat := range runsOf {
		wg.Go(func() {
			for i := range 5 {
				a := w.post(i%2, "/chat/send", fields{"chat_id": fmt.Sprint(chat), "input": text(fmt.Sprintf("quick #%d.%d", chat, i)), "on_active": "queue"})
				if a.Status != http.StatusAccepted {
					t.Error(a.Status, a.Body)
				}
				runsOf[chat] = append(runsOf[chat], a.RunID)
			}
		})
	}
	wg.Wait()
	w.Worker(acting{book: b}, worker.Config{})
	for _, all := range runsOf {
		for _, id := range all {
			require.Equal(t, subjects.End{Persisted: true, Reason: subjects.ReasonDone}, w.ended(id))
		}
	}
	at := map[subjects.RunID]int{}
	for i, id := range b.begun {
		at[id] = i
	}
	require.Len(t, at, 500)
	require.Len(t, b.begun, 500, "each once")
	for _, all := range runsOf {
		for i := range all[1:] {
			require.Less(t, at[all[i]], at[all[i+1]])
		}
	}
	harness.Eventually(t, "the work queue is empty", func() bool { return len(w.subjectsOf(subjects.TurnsStream, ">")) == 0 })
}
