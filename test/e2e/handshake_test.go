package e2e_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// SEAM-05: the run ends while a reader stands at a step of its handshake. It is given
// everything and the end, saved or not, by a snapshot or from its cursor.
func TestSEAM05_TheRunEndsDuringTheHandshake(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	p := f.Producer(f.Connect())
	const early, total = 3, 5
	// meanwhile publishes the rest and ends the run.
	meanwhile := func(run *producer.Run, persisted bool) {
		f.Publish(run, early+1, total)
		finish(t, run, persisted)
	}
	for _, persisted := range []bool{true, false} {
		for _, at := range []step{subscribed, logRead, snapshotBuilt, atHead} {
			for _, cursor := range []bool{false, true} {
				if cursor && at == snapshotBuilt {
					continue // none is built
				}
				run := f.Start(p, string(at))
				for i := range uint64(early) { // each in a record of its own, or the tail has them all
					f.Publish(run, i+1, i+1)
				}
				g := newGate(t, at)
				relay := f.Relay(harness.RelayConfig{Steps: g.steps()})
				o, body := &harness.Observer{}, harness.Live(string(at))
				if cursor {
					o, body = harness.At(run.ID(), 0), harness.Live(string(at), "run_id", run.ID(), "after_seq", 0)
				}
				c := watch(t, relay.URL, body)
				g.wait()
				meanwhile(run, persisted)
				g.open()
				require.NoError(t, o.ToEnd(bounded(t), c), "%s, from a cursor %v", at, cursor)
				require.NoError(t, o.Holds(total), at)
				require.Equal(t, subjects.End{Persisted: persisted, Reason: subjects.ReasonDone}, *o.End)
				require.Equal(t, cursor, o.Snapshots == 0)
				relay.Stop()
			}
		}

		// Between looking the run up and attaching to it.
		relay := f.Relay(harness.RelayConfig{})
		run := f.Start(p, "found")
		f.Publish(run, 1, early)
		e, err := relay.Hub.Find(t.Context(), consumer.FindRequest{ChatID: "found"})
		require.NoError(t, err)
		meanwhile(run, persisted)
		reader, err := relay.Hub.Open(t.Context(), e, consumer.ReadOptions{})
		require.NoError(t, err)
		defer reader.Close()
		o := &harness.Observer{}
		require.NoError(t, o.ToEnd(bounded(t), reader))
		require.NoError(t, o.Holds(total))

		// After the first frame has arrived.
		run = f.Start(p, "arrived")
		f.Publish(run, 1, early)
		c := watch(t, relay.URL, harness.Live("arrived"))
		o = &harness.Observer{}
		require.NoError(t, o.Until(bounded(t), c, early))
		meanwhile(run, persisted)
		require.NoError(t, o.ToEnd(bounded(t), c))
		require.NoError(t, o.Holds(total))
		require.Equal(t, persisted, o.End.Persisted)
	}
}

// SEAM-05: readers that come before the application has saved the answer, and after.
func TestSEAM05_BeforeAndAfterTheSave(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	r := f.Relay(harness.RelayConfig{})
	run, events := f.Start(f.Producer(f.Connect()), "c"), talk("m", "one", "two", "three")
	publish(t, run, events...)
	saving, saved := make(chan struct{}), make(chan struct{})
	finished := make(chan error, 1)
	go func() {
		_, err := run.Finish(t.Context(), producer.FinishOptions{Save: func(ctx context.Context) error {
			close(saving)
			select {
			case <-saved:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}})
		finished <- err
	}()
	<-saving
	sweep(t, r.Store) // a pending save is never evicted
	early := map[*held]*harness.Conn{
		{}:                         watch(t, r.URL, harness.Live("c")),
		from(run.ID(), events):     watch(t, r.URL, harness.Live("c", "run_id", run.ID(), "after_seq", len(events))),
		from(run.ID(), events[:1]): watch(t, r.URL, harness.Live("c", "run_id", run.ID(), "after_seq", 1)),
	}
	for h, c := range early {
		h.until(t, c, uint64(len(events)))
		require.Nil(t, h.end)
	}
	require.Nil(t, poll(t, r.URL, run.ID()).end)
	close(saved)
	require.NoError(t, <-finished)
	for h, c := range early {
		h.toEnd(t, c)
		require.Equal(t, subjects.End{Persisted: true, Reason: subjects.ReasonDone}, *h.end)
		require.Equal(t, reduce(events), h.state())
	}
	// Who holds nothing loads history; who names the run drains it.
	idle(t, r.URL, "c")
	byEveryRoute(t, r.URL, "c", run.ID(), reduce(events), subjects.End{Persisted: true, Reason: subjects.ReasonDone})
	last := from(run.ID(), events)
	last.toEnd(t, watch(t, r.URL, harness.Live("c", "run_id", run.ID(), "after_seq", len(events))))
	require.Equal(t, events, last.events)
}

// SEAM-05: an unsaved run answers with everything it has for as long as it is retained.
func TestSEAM05_AnUnsavedRunAnswersForAsLongAsItIsRetained(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	r, other := f.Relay(harness.RelayConfig{}), f.Relay(harness.RelayConfig{})
	run, events := f.Start(f.Producer(f.Connect()), "c"), talk("m", "one", "two", "three")
	publish(t, run, events...)
	finish(t, run, false)
	end := subjects.End{Reason: subjects.ReasonDone}
	for _, url := range []string{r.URL, other.URL, r.URL} {
		h := new(held).toEnd(t, watch(t, url, harness.Live("c")))
		require.Equal(t, reduce(events), h.state())
		require.Equal(t, end, *h.end)
		byEveryRoute(t, url, "c", run.ID(), reduce(events), end)
		require.Equal(t, reduce(events), reduce(legacyEvents(t, watch(t, url, `{"chat_id":"c"}`))))
	}
	sweep(t, r.Store)
	for _, url := range []string{r.URL, other.URL} {
		idle(t, url, "c")
		idle(t, url, "c", "run_id", run.ID(), "after_seq", 2)
		require.Equal(t, http.StatusNotFound, ask(t, http.MethodGet, url+"/runs/"+string(run.ID())+"/snapshot", "").Status)
	}
}

// sweep evicts every run that has ended.
func sweep(t *testing.T, store *runs.Store) {
	t.Helper()
	j := runs.NewJanitor(store, runs.JanitorConfig{Lease: time.Hour, Retention: time.Nanosecond})
	require.NoError(t, j.Sweep(bounded(t)))
}

// idle wants 204 for a chat, by POST and by GET.
func idle(t *testing.T, url, chat string, more ...any) {
	t.Helper()
	c := ask(t, http.MethodPost, url+"/chat/live", harness.Live(chat, more...))
	require.Equal(t, http.StatusNoContent, c.Status)
	require.Empty(t, whole(t, c))
	if len(more) == 0 {
		require.Equal(t, http.StatusNoContent, ask(t, http.MethodGet, url+"/chat/live?"+query("chat_id", chat), "").Status)
		require.Equal(t, http.StatusNoContent, ask(t, http.MethodPost, url+"/chat/live", `{"chat_id":`+quoted(chat)+`}`).Status)
	}
}
