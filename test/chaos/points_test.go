package chaos_test

import (
	"bytes"
	"context"
	"encoding/json"
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
	"github.com/rejoin/rejoin/test/proxy"
)

// The broker restarts when a turn has come to one step of its way, before the broker has
// heard of the step or before anybody has heard that the broker has. The turn goes on as
// if nothing had been: it is begun once, its question has the one answer that was given, and
// it is saved.
func TestTheBrokerRestartsAtAStep(t *testing.T) {
	t.Parallel()
	const entry, control = "HPUB $KV.rejoin.run.", "HPUB rejoin.control."
	for name, at := range map[string]struct {
		relay bool   // it is the relay that takes the step, else the worker
		sends string // what shows the step on the wire
		nth   int32  // time that it shows, from 1
	}{
		"begin":            {false, entry, 1},
		"take the turn":    {false, "PUB $JS.ACK.TURNS.", 1},
		"note a question":  {false, entry, 2},
		"publish it":       {false, "test.permission.request", 1},
		"store the answer": {true, control, 1},
		"tell the answer":  {false, "test.permission.resolved", 1},
		"close the inputs": {false, control, 1},
		"save":             {false, "HPUB rejoin.history.", 1},
		"end":              {false, subjects.RecordHeader + ": " + string(subjects.KindEnd), 1},
	} {
		for _, heard := range []bool{false, true} {
			t.Run(name+map[bool]string{false: ", unheard", true: ", unanswered"}[heard], func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, harness.Config{Broker: harness.Networked(t)})
				var begun atomic.Int32
				got := make(chan agent.Answer, 1)
				wk := w.Worker(agent.Func(func(ctx context.Context, t agent.Turn) error {
					begun.Add(1)
					a, err := t.Ask(ctx, agent.Question{Name: "test.permission", Options: []string{"yes", "no"}})
					got <- a
					return err
				}), worker.Config{})
				p := wk.Proxy
				if at.relay {
					p = w.relays[0].Proxy
				}
				restarted := restartAt(w, p, at.sends, at.nth, heard)
				id := w.send("c", "ask", runs.Reject)
				request := w.question(id)
				harness.Eventually(t, "the answer is taken", func() bool {
					a := w.answer(0, "c", id, request, yes)
					require.NotEqual(t, http.StatusConflict, a.Status, a.Body)
					return a.Status == http.StatusOK
				})
				require.Equal(t, subjects.End{Persisted: true, Reason: subjects.ReasonDone}, w.ended(id))
				<-restarted
				require.JSONEq(t, yes, string((<-got).Outcome))
				require.EqualValues(t, 1, begun.Load())
				seen := w.Watch(w.relays[1].Hub, w.relays[1].Link, id, nil)
				require.Equal(t, []string{"RUN_STARTED", "CUSTOM", "ACTIVITY_SNAPSHOT", "CUSTOM", "ACTIVITY_SNAPSHOT", "RUN_FINISHED"}, typesOf(w.log(w.entry(id))))
				require.Empty(t, seen.State.Pending())
				require.Equal(t, subjects.ReasonDone, seen.End.Reason)
			})
		}
	}
}

// restartAt restarts the broker once something has been sent through a proxy that often,
// before it arrives or before it is answered.
func restartAt(w *world, p *proxy.Proxy, sends string, nth int32, heard bool) (restarted <-chan struct{}) {
	done := make(chan struct{})
	var times atomic.Int32
	var once sync.Once
	restart := func() {
		if err := w.Broker.Restart(); err != nil {
			w.Errorf("restart: %v", err)
		}
		close(done)
	}
	var after sync.WaitGroup
	w.Cleanup(after.Wait)
	p.Tap(proxy.Up, func(b []byte) {
		if times.Add(int32(bytes.Count(b, []byte(sends)))) < nth {
			return
		}
		once.Do(func() {
			if !heard {
				p.Cut() // or it would be sent on to a broker that is going
				restart()
				return
			}
			release := p.Hold(proxy.Down)
			after.Go(func() {
				defer release()
				restart()
			})
		})
	})
	return done
}

func typesOf(events []string) (types []string) {
	for _, line := range events {
		var e struct{ Type string }
		_ = json.Unmarshal([]byte(line), &e) // what is no event has no type
		types = append(types, e.Type)
	}
	return types
}
