package turns_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/producer/worker"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// echo is an agent that says what it was told, and goes on when it may.
func echo(goOn <-chan struct{}) agent.Agent {
	return agent.Func(func(ctx context.Context, t agent.Turn) error {
		if err := publish(t, said("m", agui.UserText(t.Request().Input))); err != nil {
			return err
		}
		select {
		case <-goOn:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}

// SEND-01: a double click, and twenty sends at once: one wins, its agent alone does work,
// and the others can watch.
func TestSEND01_ManySendsOneRun(t *testing.T) {
	t.Parallel()
	r := newRig(t, harness.Config{})
	goOn := make(chan struct{}, 100)
	for range 2 {
		r.Worker(echo(goOn), worker.Config{})
	}
	for i, n := range []int{2, 2, 2, 20} {
		chat := fmt.Sprint("c", i)
		replies := together(n, func(i, relay int) reply {
			time.Sleep(time.Duration(i) * time.Millisecond) // at once, or each a moment later
			return r.post(relay, "/chat/send", "chat_id", chat, "input", text(fmt.Sprint("said by ", i)))
		})
		winner := slices.IndexFunc(replies, func(a reply) bool { return a.Status == http.StatusAccepted })
		require.GreaterOrEqual(t, winner, 0)
		for i, a := range replies {
			require.Equal(t, replies[winner].RunID, a.RunID, "the loser can attach")
			if i != winner {
				require.Equal(t, http.StatusConflict, a.Status, a.Body)
				require.Equal(t, "already_streaming", a.Code)
			}
		}
		p := r.open(1, chat, "run_id", replies[1].RunID)
		goOn <- struct{}{}
		p.toEnd()
		require.Equal(t, []string{"RUN_STARTED", "TEXT_MESSAGE_CHUNK", "RUN_FINISHED"}, p.Types)
		require.Contains(t, p.Events[1], fmt.Sprintf("%q", fmt.Sprint("said by ", winner)))
		require.Len(t, r.history(chat), 1)
	}
}

// SEND-01: a retry after the connection was lost behind the send gets the answer that is
// being made, and no second one.
func TestSEND01_ARetryAfterALostAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, harness.Config{})
	goOn := make(chan struct{}, 10)
	r.Worker(echo(goOn), worker.Config{})
	proxy, front := r.Front(r.relays[0])
	body := `{"chat_id":"c","protocol":1,"input":{"text":"hi"},"client_token":"t"}`
	c, err := harness.Ask(r.within(), http.MethodPost, front+"/chat", body)
	require.NoError(t, err)
	_, err = c.Next(r.within())
	require.NoError(t, err)
	proxy.Cut()
	for err == nil {
		_, err = c.Next(r.within())
	}
	c.Close()
	again, err := harness.Ask(r.within(), http.MethodPost, r.relays[1].URL+"/chat", body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, again.Status)
	require.Equal(t, c.Header.Get("Rejoin-Run-Id"), again.Header.Get("Rejoin-Run-Id"))
	goOn <- struct{}{}
	seen, err := harness.See(r.within(), again, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"RUN_STARTED", "TEXT_MESSAGE_CHUNK", "RUN_FINISHED"}, seen.Types)
	require.Len(t, r.history("c"), 1)
}

// Turns that wait are answered in the order in which they were sent, one at a time,
// though two workers have room for all.
func TestQueuedTurnsAreAnsweredInOrder(t *testing.T) {
	t.Parallel()
	const turnsEach = 10
	r := newRig(t, harness.Config{})
	var mu sync.Mutex
	var began []string
	busy := map[string]bool{}
	a := agent.Func(func(ctx context.Context, t agent.Turn) error {
		chat := t.Request().ChatID
		mu.Lock()
		began = append(began, chat+" "+agui.UserText(t.Request().Input))
		twice := busy[chat]
		busy[chat] = true
		mu.Unlock()
		err := publish(t, begin)
		mu.Lock()
		busy[chat] = false
		mu.Unlock()
		if twice {
			return fmt.Errorf("two turns of %s at once", chat)
		}
		return err
	})
	for range 2 {
		r.Worker(a, worker.Config{})
	}
	chats := []string{"a", "b", "c"}
	last := map[string]subjects.RunID{}
	want := map[string][]string{}
	for i := range turnsEach {
		for _, chat := range chats {
			last[chat] = r.send(chat, fmt.Sprint(i), "on_active", "queue")
			want[chat] = append(want[chat], fmt.Sprint(chat, " ", i))
		}
	}
	for _, chat := range chats {
		require.Equal(t, subjects.ReasonDone, r.watch(0, chat, last[chat]).End.Reason)
		var got []string
		mu.Lock()
		for _, b := range began {
			if strings.HasPrefix(b, chat) {
				got = append(got, b)
			}
		}
		mu.Unlock()
		require.Equal(t, want[chat], got)
		turns := r.history(chat)
		require.Len(t, turns, turnsEach)
		for i, turn := range turns {
			require.Equal(t, subjects.ReasonDone, turn.Reason)
			require.JSONEq(t, fmt.Sprintf(`{"text":"%d"}`, i), string(turn.Input))
		}
	}
}

// SEND-02: twenty runs, each of which replaces the one before: the agents of the older ones
// are told, what they say afterwards reaches nobody, and every reader finds the last.
func TestSEND02_TwentyReplacements(t *testing.T) {
	t.Parallel()
	const runs = 20
	r := newRig(t, harness.Config{})
	causes, late := make(chan error, runs), make(chan error, runs)
	var last sync.Map // run id → may finish
	r.Worker(agent.Func(func(ctx context.Context, t agent.Turn) error {
		if err := publish(t, begin); err != nil {
			return err
		}
		if err := count(t, 1, 10); err != nil {
			return err
		}
		if agui.UserText(t.Request().Input) == "last" {
			last.Store(t.Request().RunID, true)
			return count(t, 11, 20)
		}
		<-ctx.Done()
		causes <- context.Cause(ctx)
		for i := range uint64(50) {
			if err := count(t, 11+i, 11+i); err != nil {
				late <- err
				return err
			}
		}
		late <- nil
		return nil
	}), worker.Config{Concurrency: runs})
	id := r.send("c", "first")
	pages := []*page{r.open(0, "c").until(func(s *harness.Seen) bool { return says(s.State, "m") == harness.Text(10) })}
	ids := []subjects.RunID{id}
	for i := range runs - 1 {
		words := fmt.Sprint("again ", i)
		if i == runs-2 {
			words = "last"
		}
		next := r.send("c", words, "kind", "retry")
		p := r.open(i%2, "c", "run_id", next)
		require.Equal(t, next, p.until(func(s *harness.Seen) bool { return says(s.State, "m") == harness.Text(10) }).RunID)
		ids, pages = append(ids, next), append(pages, p)
	}
	for i, p := range pages {
		p.toEnd()
		if i == runs-1 {
			require.Equal(t, &subjects.End{Persisted: true, Reason: subjects.ReasonDone}, p.End)
			require.Equal(t, harness.Text(20), says(p.State, "m"))
			continue
		}
		require.Equal(t, &subjects.End{Superseded: true, Reason: subjects.ReasonSuperseded, NextRunID: ids[i+1]}, p.End)
		require.Equal(t, harness.Text(10), says(p.State, "m"), "late events reach nobody")
		require.Equal(t, p.State, r.snapshot(0, ids[i]))
		require.ErrorIs(t, <-causes, agent.ErrSuperseded)
		require.ErrorIs(t, <-late, agent.ErrOver)
		require.Equal(t, ids[runs-1], r.watch(1, "c", ids[i]).RunID, "all roads lead to the last")
	}
	require.Len(t, r.history("c"), 1)
}
