package turns_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/producer/demo"
	"github.com/rejoin/rejoin/producer/worker"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

var stoppedAndSaved = &subjects.End{Persisted: true, Reason: subjects.ReasonStopped}

// STOP-02: a turn that is stopped before any worker is there never does work, and the
// next message is taken.
func TestSTOP02_BeforeTheStart(t *testing.T) {
	t.Parallel()
	r := newRig(t, harness.Config{})
	id := r.send("c", "hi")
	live := r.open(0, "c")
	require.Equal(t, http.StatusAccepted, r.stop(1, "c", id).Status)
	live.toEnd()
	require.Equal(t, &subjects.End{Reason: subjects.ReasonStopped}, live.End)
	require.Empty(t, live.Events)
	again := r.stop(0, "c", id)
	require.Equal(t, http.StatusConflict, again.Status)
	require.Equal(t, "stale_run", again.Code)
	next := r.send("c", "hi")
	var begun []subjects.RunID
	var mu sync.Mutex
	r.Worker(agent.Func(func(ctx context.Context, t agent.Turn) error {
		mu.Lock()
		defer mu.Unlock()
		begun = append(begun, t.Request().RunID)
		return nil
	}), worker.Config{})
	require.Equal(t, subjects.ReasonDone, r.watch(1, "c", next).End.Reason)
	require.Equal(t, []subjects.RunID{next}, begun)
	require.Nil(t, r.saved("c", id))
}

// stopped is what every kind of stop has in common: A is attached, B stops through the
// other relay, C comes later, and the history has it too.
func (r *rig) stopped(chat string, live *page) *harness.Seen {
	r.Helper()
	id := live.RunID
	for i := range 3 {
		if a := r.stop(i%2, chat, id); a.Status != http.StatusAccepted {
			require.Positive(r, i, a.Body)
			require.Equal(r, "stale_run", a.Code, a.Body)
		}
	}
	require.Equal(r, http.StatusNotFound, r.stop(0, chat+"other", id).Status)
	live.toEnd()
	require.Equal(r, stoppedAndSaved, live.End)
	require.Equal(r, 1, terminals(live.Seen))
	last := live.Events[len(live.Events)-1]
	require.Contains(r, last, `"RUN_FINISHED"`)
	require.Contains(r, last, `"cancelled"`)
	sameEnd(r, live.Seen, r.watch(1, chat, id))
	require.Equal(r, live.State, r.snapshot(0, id))
	saved := r.saved(chat, id)
	require.Equal(r, subjects.ReasonStopped, saved.Reason)
	require.Equal(r, live.State, r.reduce(saved.Events))
	late := r.stop(1, chat, id)
	require.Equal(r, http.StatusConflict, late.Status)
	require.Equal(r, "stale_run", late.Code)
	require.Equal(r, subjects.ReasonStopped, late.Reason)
	require.Equal(r, "ended", r.view(id).State)
	return live.Seen
}

// STOP-02, STOP-04: while tokens flow, during a tool call of a minute, and while a
// permission is pending, of the demo agent.
func TestSTOP02_WhateverItDoes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		when func(*harness.Seen) bool
	}{
		"tokens":   {"long", func(s *harness.Seen) bool { return len(s.Events) > 100 }},
		"tool":     {"tool", func(s *harness.Seen) bool { return s.State.Closed["tool wait-"+string(s.RunID)] }},
		"approval": {"approval", harness.Asks},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, harness.Config{})
			r.Worker(demo.NewAgent(demo.AgentConfig{Rate: 1000}), worker.Config{})
			r.send("c", c.text)
			seen := r.stopped("c", r.open(0, "c").until(c.when))
			require.Empty(t, seen.State.Pending())
			require.Empty(t, seen.State.Unknown)
		})
	}
}

// STOP-02: an agent that does not look: what it still gets in counts, then the turn ends
// without it, and not one of its later events is ever seen.
func TestSTOP02_AnAgentThatDoesNotLook(t *testing.T) {
	t.Parallel()
	for name, silent := range map[string]bool{"in a tool call": true, "talking": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, harness.Config{})
			id := r.send("c", "hi")
			live := r.open(0, "c")
			over, refused := make(chan struct{}), make(chan error, 1)
			var stored atomic.Uint64 // numbers that were taken
			r.Worker(agent.Func(func(_ context.Context, t agent.Turn) error {
				_ = publish(t, begin)
				for i := uint64(1); ; i++ {
					if silent && i == 50 {
						<-over // the tool call: a minute, or as long as it takes
					}
					if err := t.Publish(context.Background(), harness.Delta(i)); err != nil {
						refused <- err
						return err
					}
					stored.Store(i)
					time.Sleep(time.Millisecond) // the pace of an agent
				}
			}), worker.Config{})
			live.until(func(s *harness.Seen) bool { return len(s.Events) > 40 })
			seen := r.stopped("c", live)
			close(over)
			require.ErrorIs(t, <-refused, agent.ErrOver)
			require.Equal(t, harness.Text(stored.Load()), says(seen.State, "m"), "all that was taken, and nothing else")
			require.Equal(t, []string{"TEXT_MESSAGE_END", "RUN_FINISHED"}, seen.Types[len(seen.Types)-2:])
			require.Equal(t, seen.Seq, r.view(id).Seq)
		})
	}
}

// STOP-02: a stop that crosses the end of its run, again and again: one end, one terminal
// event, and the chat's next run is never touched.
func TestSTOP02_CrossingTheEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, harness.Config{})
	var took atomic.Int64 // by the last stop: a turn takes about as long, or they would never meet
	took.Store(int64(time.Millisecond))
	r.Worker(agent.Func(func(ctx context.Context, t agent.Turn) error {
		_ = publish(t, begin)
		if strings.Contains(string(t.Request().Input), "until it is stopped") {
			<-ctx.Done()
		}
		for i := range uint64(5) {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(time.Duration(rand.N(took.Load()))):
			}
			if err := count(t, i+1, i+1); err != nil {
				return err
			}
		}
		return nil
	}), worker.Config{})
	reasons := map[subjects.Reason]int{}
	for i := range 50 {
		chat := fmt.Sprint("c", i)
		say := "hi"
		if i == 0 { // the stop is first, for once
			say = "talk until it is stopped"
		}
		id := r.send(chat, say)
		live := r.open(i%2, chat, "run_id", id)
		live.until(func(s *harness.Seen) bool { return len(s.Events) > 0 })
		switch i {
		case 0:
		case 1: // and here the end
			r.watch(0, chat, id)
		default:
			time.Sleep(time.Duration(rand.N(3 * took.Load()))) // at any moment
		}
		from := time.Now()
		a := r.stop(1, chat, id)
		took.Store(int64(time.Since(from)))
		next := r.send(chat, "hi", "on_active", "queue")
		r.stop(0, chat, id)
		live.toEnd()
		require.Equal(t, 1, terminals(live.Seen))
		require.True(t, live.End.Persisted)
		reasons[live.End.Reason]++
		switch {
		case a.Status == http.StatusConflict:
			require.Equal(t, live.End.Reason, a.Reason)
			require.Equal(t, subjects.ReasonDone, live.End.Reason)
		case live.End.Reason == subjects.ReasonDone: // it was too late to matter
			require.Equal(t, http.StatusAccepted, a.Status)
		default:
			require.Equal(t, http.StatusAccepted, a.Status)
			require.Equal(t, stoppedAndSaved, live.End)
		}
		outcome := map[subjects.Reason]string{subjects.ReasonDone: `"success"`, subjects.ReasonStopped: `"cancelled"`}[live.End.Reason]
		require.Contains(t, live.Events[len(live.Events)-1], outcome)
		require.Equal(t, live.State, r.snapshot(0, id))
		require.Equal(t, live.End.Reason, r.saved(chat, id).Reason)
		after := r.watch(1, chat, next)
		require.Equal(t, subjects.ReasonDone, after.End.Reason)
		require.Equal(t, harness.Text(5), says(after.State, "m"))
	}
	t.Logf("ends: %v", reasons)
	require.Len(t, reasons, 2, "both were faster now and then")
}

// STOP-01: whoever sent the message and whoever reads may leave at any moment: the run
// goes on to its end.
func TestSTOP01_LeavingIsNotStopping(t *testing.T) {
	t.Parallel()
	const numbers = 40
	r := newRig(t, harness.Config{})
	r.Worker(agent.Func(func(ctx context.Context, t agent.Turn) error {
		time.Sleep(rand.N(10 * time.Millisecond)) // before the first event
		if err := publish(t, begin); err != nil {
			return err
		}
		for i := range uint64(numbers) {
			if err := count(t, i+1, i+1); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(time.Millisecond):
			}
		}
		return nil
	}), worker.Config{})
	proxy, front := r.Front(r.relays[0])
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Go(func() {
			chat := fmt.Sprint("c", i)
			url := []string{front, r.relays[0].URL, r.relays[1].URL}[i%3]
			ctx, leave := context.WithTimeout(r.within(), rand.N(60*time.Millisecond)+time.Millisecond)
			defer leave()
			c, err := harness.Ask(ctx, http.MethodPost, url+"/chat",
				fmt.Sprintf(`{"chat_id":%q,"protocol":1,"input":{"text":"hi"},"client_token":"t"}`, chat))
			if err == nil {
				for err == nil {
					_, err = c.Next(ctx) // until they leave
				}
				c.Close()
			}
			if i%3 == 0 {
				proxy.Cut() // those who come through it, too
			}
		})
	}
	wg.Wait()
	for i := range 24 {
		chat := fmt.Sprint("c", i)
		// A retry tells which run it was, or that the message never arrived, and then it does.
		a := r.post(i%2, "/chat/send", "chat_id", chat, "input", text("hi"), "client_token", "t")
		require.Equal(t, http.StatusAccepted, a.Status, a.Body)
		seen := r.watch(1, chat, a.RunID)
		require.Equal(t, &subjects.End{Persisted: true, Reason: subjects.ReasonDone}, seen.End)
		require.Equal(t, harness.Text(numbers), says(seen.State, "m"))
		require.Equal(t, seen.State, r.reduce(r.saved(chat, a.RunID).Events))
		require.Len(t, r.history(chat), 1)
	}
}

// STOP-01: with a reader that comes and goes all the time.
func TestSTOP01_ReadersComeAndGo(t *testing.T) {
	t.Parallel()
	r := newRig(t, harness.Config{})
	id := r.send("c", "hi")
	goOn := make(chan struct{})
	r.Worker(agent.Func(func(ctx context.Context, t agent.Turn) error {
		_ = publish(t, begin)
		for i := range uint64(30) {
			select {
			case <-goOn:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			if err := count(t, i+1, i+1); err != nil {
				return err
			}
		}
		return nil
	}), worker.Config{})
	for i := range 30 {
		p := r.open(i%2, "c")
		goOn <- struct{}{}
		if i%3 == 0 {
			p.until(func(s *harness.Seen) bool { return s.Seq > uint64(i) })
		}
		p.conn.Close()
	}
	stream := (&consumer.Client{BaseURL: r.relays[0].URL}).Watch(r.within(), consumer.Watch{ChatID: "c", RunID: id})
	defer stream.Close()
	seen, err := harness.See(r.within(), stream, nil)
	require.NoError(t, err)
	require.Equal(t, subjects.ReasonDone, seen.End.Reason)
	require.Equal(t, harness.Text(30), says(seen.State, "m"))
}
