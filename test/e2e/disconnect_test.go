package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// The observer of a response leaves in mid-stream while a deterministic producer goes
// on. What it had, and what it recovers through /chat/live from its cursor, by any
// route and on another relay, are together exactly what was published.
func TestAnObserverThatLeavesRecoversTheRest(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	relays := []*harness.Relay{f.Relay(harness.RelayConfig{}), f.Relay(harness.RelayConfig{})}
	for leaves := range 12 {
		chat := fmt.Sprint("c", leaves)
		events := slices.Concat(turn(chat)[:8], talk("x", strings.Split(harness.Text(40), " ")...), turn(chat)[8:])
		at := uint64(1 + leaves*len(events)/12)
		run := f.Start(relays[0].Producer, chat)
		left := make(chan struct{})
		finished := make(chan error, 1)
		go func() { // it does not know that anybody watches
			for i, e := range events {
				if uint64(i) == at+1 {
					<-left
				}
				if _, err := run.Publish(t.Context(), []byte(e)); err != nil {
					finished <- err
					return
				}
			}
			finished <- nil
		}()
		prefix, c := from(run.ID(), nil), watch(t, relays[0].URL, harness.Live(chat, "run_id", run.ID(), "after_seq", 0))
		prefix.until(t, c, at)
		c.Close()
		close(left)
		require.NoError(t, <-finished)
		finish(t, run, true)

		require.Equal(t, events[:at], prefix.events)
		other := relays[leaves%2].URL
		for route, c := range map[string]*harness.Conn{
			"post": watch(t, other, harness.Live(chat, "run_id", run.ID(), "after_seq", at)),
			"get":  ask(t, http.MethodGet, other+"/chat/live?"+query("chat_id", chat, "run_id", string(run.ID()), "after_seq", fmt.Sprint(at)), ""),
			"EventSource": ask(t, http.MethodGet, other+"/chat/live?"+query("chat_id", chat), "",
				"Last-Event-ID", fmt.Sprintf("%s:%d", run.ID(), at)),
		} {
			suffix := from(run.ID(), events[:at])
			suffix.toEnd(t, c)
			require.Zero(t, suffix.snapshots)
			require.Equal(t, events, suffix.events, route)
			require.Equal(t, subjects.End{Persisted: true, Reason: subjects.ReasonDone}, *suffix.end)
		}
		require.Equal(t, reduce(events), poll(t, other, run.ID()).state())
	}
}

// STOP-01: every reader leaves, also before the first event, and nobody is there for the
// rest. The run completes and can be read.
func TestSTOP01_LeavingIsNotStopping(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	r := f.Relay(harness.RelayConfig{})
	id := started(t, r.URL, "c")
	for range 5 {
		watch(t, r.URL, harness.Live("c")).Close()
	}
	require.JSONEq(t, `{"accepted":3,"last_seq":3}`, whole(t, ask(t, http.MethodPost, r.URL+"/runs/"+id+"/events", lines(1, 3))))
	o, c := &harness.Observer{}, watch(t, r.URL, harness.Live("c"))
	require.NoError(t, o.Until(bounded(t), c, 3))
	c.Close()
	harness.Eventually(t, "everybody has left", func() bool { return r.Number("rejoin_observers") == 0 && r.Number("rejoin_tails") == 0 })
	require.JSONEq(t, `{"accepted":97,"last_seq":100}`, whole(t, ask(t, http.MethodPost, r.URL+"/runs/"+id+"/events", lines(4, 100))))
	require.JSONEq(t, `{"seq":100}`, whole(t, ask(t, http.MethodPost, r.URL+"/runs/"+id+"/end", `{}`)))
	late := &harness.Observer{}
	require.NoError(t, late.ToEnd(bounded(t), watch(t, r.URL, harness.Live("c"))))
	require.NoError(t, late.Holds(100))
	require.Equal(t, subjects.ReasonDone, late.End.Reason)
}
