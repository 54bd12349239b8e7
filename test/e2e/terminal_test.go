package e2e_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// TERM-01: two processes write one run and both end it, in either order and at once. The
// first end seals the run: a reader that is there, one that comes late and one that
// comes after persistence agree, and nothing comes after it.
func TestTERM01_TheFirstEndSealsTheRun(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	relay := f.Relay(harness.RelayConfig{})
	p1, p2 := f.Producer(f.Connect()), f.Producer(f.Connect())
	failed := producer.FinishOptions{Reason: subjects.ReasonError}
	for i := range 24 {
		chat := fmt.Sprint("c", i)
		first := f.Start(p1, chat)
		f.Publish(first, 1, 5)
		live, c := &harness.Observer{}, watch(t, relay.URL, harness.Live(chat))
		require.NoError(t, live.Until(bounded(t), c, 5))

		second, err := p2.Resume(t.Context(), first.ID())
		require.NoError(t, err)
		ends := make([]error, 3)
		race := []func(){
			func() { _, ends[0] = first.Finish(t.Context(), failed) },
			func() {
				for seq := uint64(6); seq <= 25; seq++ {
					if _, err := second.Publish(t.Context(), harness.Delta(seq)); err != nil {
						break
					}
				}
				_, ends[1] = second.Finish(t.Context(), producer.FinishOptions{Persisted: true})
			},
			func() { // whoever takes an orphan for dead
				if i%3 == 0 {
					_, ends[2] = relay.Store.EndRun(t.Context(), first.ID(), subjects.End{Reason: subjects.ReasonAbandoned})
				}
			},
		}
		var wg sync.WaitGroup
		for j := range race {
			wg.Go(race[(i+j)%len(race)])
		}
		wg.Wait()
		require.ErrorIs(t, ends[0], producer.ErrFenced, "who lost the run ends nothing")
		require.NoError(t, ends[2])

		require.NoError(t, live.ToEnd(bounded(t), c))
		require.NoError(t, live.Holds(live.Seq))
		want := subjects.End{Persisted: true, Reason: subjects.ReasonDone}
		if ends[1] != nil { // the third was faster
			require.ErrorIs(t, ends[1], producer.ErrEnded)
			want = subjects.End{Reason: subjects.ReasonAbandoned}
		}
		require.Equal(t, want, *live.End)
		for _, body := range []string{harness.Live(chat, "run_id", first.ID()), harness.Live(chat, "run_id", first.ID(), "after_seq", 2)} {
			late := harness.At(first.ID(), 2)
			require.NoError(t, late.ToEnd(bounded(t), watch(t, relay.URL, body)))
			require.NoError(t, late.Holds(live.Seq))
			require.Equal(t, want, *late.End)
		}
		for _, run := range []*producer.Run{first, second} {
			_, err := run.Publish(t.Context(), harness.Delta(99))
			require.Error(t, err)
		}
		after := poll(t, relay.URL, first.ID())
		require.Equal(t, live.Seq, after.seq)
		require.Equal(t, want, *after.end)
	}
}

// TERM-01 over HTTP: one of two ends is taken, whoever asks again is told which.
func TestTERM01_OneOfTwoEndsOverHTTP(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	relays := []*harness.Relay{f.Relay(harness.RelayConfig{}), f.Relay(harness.RelayConfig{})}
	for i := range 10 {
		chat := fmt.Sprint("c", i)
		id := started(t, relays[0].URL, chat)
		live, c := &harness.Observer{}, watch(t, relays[1].URL, harness.Live(chat))
		ask(t, http.MethodPost, relays[0].URL+"/runs/"+id+"/events", lines(1, 3))
		require.NoError(t, live.Until(bounded(t), c, 3))
		reasons := []string{"done", "error"}
		end := func(j int) (status int, body string) {
			c, err := harness.Ask(t.Context(), http.MethodPost, relays[j].URL+"/runs/"+id+"/end", `{"reason":"`+reasons[j]+`"}`)
			if err != nil {
				t.Error(err)
				return 0, ""
			}
			body, _ = c.Rest()
			return c.Status, body
		}
		var wg sync.WaitGroup
		for j := range reasons {
			wg.Go(func() {
				if status, body := end(j); status != http.StatusOK && status != http.StatusConflict {
					t.Errorf("%d: %s", status, body)
				}
			})
		}
		wg.Wait()
		// Asked again, each is told what it is.
		won, lost := 0, 1
		status, body := end(won)
		if status != http.StatusOK {
			require.Contains(t, body, `"code":"run_ended"`)
			won, lost = 1, 0
			status, body = end(won)
		}
		require.Equal(t, http.StatusOK, status)
		require.JSONEq(t, `{"seq":3}`, body)
		status, body = end(lost)
		require.Equal(t, http.StatusConflict, status)
		require.Contains(t, body, `"code":"run_ended"`)
		require.NoError(t, live.ToEnd(bounded(t), c))
		require.Equal(t, []subjects.Reason{subjects.ReasonDone, subjects.ReasonError}[won], live.End.Reason)
		late := ask(t, http.MethodPost, relays[i%2].URL+"/runs/"+id+"/events", lines(4, 4))
		require.Equal(t, http.StatusConflict, late.Status)
		require.Contains(t, whole(t, late), `"code":"run_ended"`)
		require.EqualValues(t, 3, poll(t, relays[0].URL, subjects.RunID(id)).seq)
	}
}

// TERM-03: a chat whose first run was fine and whose second failed shows the third in
// full, on both wires, and the client goes on to the one after it.
func TestTERM03_AFailedRunHidesNothing(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	relay := f.Relay(harness.RelayConfig{})
	p := f.Producer(f.Connect())
	fine := f.Start(p, "c")
	publish(t, fine, turn("c")...)
	finish(t, fine, true)
	failed := f.Start(p, "c")
	publish(t, failed, `{"type":"RUN_STARTED","threadId":"c","runId":"agent"}`, `{"type":"RUN_ERROR","message":"no"}`)
	_, err := failed.Finish(t.Context(), producer.FinishOptions{Reason: subjects.ReasonError})
	require.NoError(t, err)

	third, events := f.Start(p, "c"), turn("c")
	publish(t, third, events[:10]...)
	h, c := &held{}, watch(t, relay.URL, harness.Live("c"))
	legacy := watch(t, relay.URL, `{"threadId":"c"}`)
	client := consumer.Client{BaseURL: relay.URL, Backoff: consumer.Backoff{Base: 1}}
	s := client.Watch(t.Context(), consumer.Watch{ChatID: "c", Follow: true})
	defer s.Close()
	var follower consumer.View
	step := func() consumer.Frame {
		frame, err := s.Next(bounded(t))
		require.NoError(t, err)
		require.NoError(t, follower.Apply(frame))
		return frame
	}
	require.Equal(t, third.ID(), step().RunID)
	publish(t, third, events[10:]...)
	for follower.Seq() < uint64(len(events)) {
		step()
	}
	require.Equal(t, reduce(events), harness.Reduce(follower.Events()))

	fourth := f.Start(p, "c")
	require.True(t, step().End.Superseded)
	publish(t, fourth, events...)
	for follower.RunID() != fourth.ID() || follower.Seq() < uint64(len(events)) {
		step()
	}
	require.Equal(t, reduce(events), harness.Reduce(follower.Events()))

	require.Equal(t, reduce(events), h.toEnd(t, c).state())
	require.Equal(t, reduce(events), reduce(legacyEvents(t, legacy)))
}

// TERM-04: a run that waits for an answer says RUN_FINISHED with an interrupt, and goes
// on later as the same run. The stream does not end, and each event counts once, for
// readers before, during and after.
func TestTERM04_WaitingIsNotFinished(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	relay := f.Relay(harness.RelayConfig{})
	p := f.Producer(f.Connect())
	run := f.Start(p, "c")
	asked := append(talk("m1", "May I?"),
		`{"type":"RUN_FINISHED","threadId":"c","runId":"agent","outcome":{"type":"interrupt","interrupts":[{"id":"i1"}]}}`)
	answered := append([]string{`{"type":"RUN_STARTED","threadId":"c","runId":"agent2"}`}, append(talk("m2", "Done."),
		`{"type":"RUN_FINISHED","threadId":"c","runId":"agent2"}`)...)
	events := append(append([]string(nil), asked...), answered...)

	before, b := &held{}, watch(t, relay.URL, harness.Live("c"))
	publish(t, run, asked...)
	before.until(t, b, uint64(len(asked)))
	during, d := &held{}, watch(t, relay.URL, harness.Live("c"))
	during.until(t, d, uint64(len(asked)))
	require.Equal(t, events[:len(asked)], during.events)
	require.Nil(t, poll(t, relay.URL, run.ID()).end)
	e, err := relay.Store.Entry(t.Context(), run.ID())
	require.NoError(t, err)
	require.True(t, e.Active())
	require.Equal(t, runs.StateRunning, e.State)

	// It goes on in another process, after the first gave it up while it waited.
	require.NoError(t, run.Release(t.Context()))
	run, err = f.Producer(f.Connect()).Resume(t.Context(), run.ID())
	require.NoError(t, err)
	publish(t, run, answered...)
	finish(t, run, true)
	for h, c := range map[*held]*harness.Conn{before: b, during: d} {
		require.Equal(t, events, h.toEnd(t, c).events)
	}
	byEveryRoute(t, relay.URL, "c", run.ID(), reduce(events), subjects.End{Persisted: true, Reason: subjects.ReasonDone})

	// An answer that comes as a run of its own is a run of its own.
	next := f.Start(p, "c")
	publish(t, next, answered...)
	h, c := from(run.ID(), events), watch(t, relay.URL, harness.Live("c", "run_id", run.ID(), "after_seq", len(events)))
	require.Equal(t, consumer.Snapshot, h.frame(t, c).Type)
	require.Equal(t, next.ID(), h.run)
	h.until(t, c, uint64(len(answered)))
	require.Equal(t, answered, h.events)
}
