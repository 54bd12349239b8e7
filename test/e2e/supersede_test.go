package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// SEND-02: a run is superseded under its readers while its producer goes on. The reader
// that is there gets one end that says so, and then the newer run from its start; what
// the older producer still has to say reaches nobody.
func TestSEND02_TheReaderOfASupersededRun(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	relay, other := f.Relay(harness.RelayConfig{}), f.Relay(harness.RelayConfig{})
	r1 := f.Start(f.Producer(f.Connect()), "c")
	f.Publish(r1, 1, 300)
	online, c := &harness.Observer{}, watch(t, relay.URL, harness.Live("c"))
	require.NoError(t, online.Until(bounded(t), c, 300))
	legacy := watch(t, relay.URL, `{"chat_id":"c"}`)
	require.Equal(t, harness.Text(300), legacySays(t, legacy, len(harness.Text(300))))
	offline := func(url, method string) *harness.Conn { // whoever comes back with a cursor of r1
		if method == http.MethodGet {
			return ask(t, method, url+"/chat/live?chat_id=c", "", "Last-Event-ID", string(r1.ID())+":300")
		}
		return watch(t, url, harness.Live("c", "run_id", r1.ID(), "after_seq", 300))
	}

	r2 := f.Start(f.Producer(f.Connect()), "c")
	late := 0
	for seq := uint64(301); seq <= 350; seq++ {
		if _, err := r1.Publish(t.Context(), harness.Delta(seq)); err != nil {
			late++
			require.ErrorIs(t, err, producer.ErrSuperseded)
		}
	}
	end, err := r1.Finish(t.Context(), producer.FinishOptions{Persisted: true})
	require.ErrorIs(t, err, producer.ErrSuperseded)
	superseded := subjects.End{Superseded: true, Reason: subjects.ReasonSuperseded, NextRunID: r2.ID()}
	require.Equal(t, superseded, end)

	require.NoError(t, online.ToEnd(bounded(t), c))
	require.NoError(t, online.Holds(300))
	require.Equal(t, superseded, *online.End)
	m, err := legacy.Message()
	require.NoError(t, err)
	require.Contains(t, string(m.Data), `"code":"superseded"`)
	_, err = legacy.Message()
	require.ErrorIs(t, err, io.EOF)

	events := talk("m2", "the", " newer", " run")
	readers := map[*held]*harness.Conn{
		{}:                       watch(t, relay.URL, harness.Live("c")),
		{run: r1.ID(), seq: 300}: offline(relay.URL, http.MethodPost),
		{run: r1.ID(), seq: 299}: offline(other.URL, http.MethodGet),
	}
	for h, c := range readers { // there was nothing of r2 when they came
		require.Equal(t, consumer.Snapshot, h.frame(t, c).Type)
		require.Equal(t, r2.ID(), h.run)
		require.Zero(t, h.seq)
	}
	publish(t, r2, events...)
	finish(t, r2, true)
	for h, c := range readers {
		require.Equal(t, events, h.toEnd(t, c).events)
	}
	// After r2 has ended too, a cursor of r1 leads to r2 and its end, on any relay.
	for _, c := range []*harness.Conn{offline(relay.URL, http.MethodPost), offline(other.URL, http.MethodGet)} {
		h := (&held{run: r1.ID(), seq: 300}).toEnd(t, c)
		require.Equal(t, r2.ID(), h.run)
		require.Equal(t, 1, h.snapshots)
		require.Equal(t, reduce(events), h.state())
		require.Equal(t, subjects.End{Persisted: true, Reason: subjects.ReasonDone}, *h.end)
	}
	h := poll(t, relay.URL, r1.ID())
	require.EqualValues(t, 300, h.seq)
	require.True(t, h.end.Superseded)
}

// SEND-02: twenty runs take the chat one after the other. Readers of any of them, there
// or not, come to the last one, without going in a circle.
func TestSEND02_AChainOfTwenty(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	relays := []*harness.Relay{f.Relay(harness.RelayConfig{}), f.Relay(harness.RelayConfig{})}
	const length = 20
	p := []*producer.Producer{f.Producer(f.Connect()), f.Producer(f.Connect())}
	next := func(i int) *producer.Run {
		run := f.Start(p[i%2], "c")
		publish(t, run, talk(fmt.Sprint("m", i), fmt.Sprint("run ", i))...)
		return run
	}
	first := next(0)
	online := watch(t, relays[0].URL, harness.Live("c"))
	follow := eager(relays[1].URL).Watch(t.Context(), consumer.Watch{ChatID: "c", Follow: true})
	defer follow.Close()
	ctx := bounded(t)
	frame, err := follow.Next(ctx)
	require.NoError(t, err)
	require.Equal(t, first.ID(), frame.RunID)

	ids := []subjects.RunID{first.ID()}
	last := first
	for i := range length - 1 {
		last = next(i + 1)
		ids = append(ids, last.ID())
	}
	want := reduce(talk(fmt.Sprint("m", length-1), fmt.Sprint("run ", length-1)))
	h := new(held).toEnd(t, online)
	require.Equal(t, subjects.End{Superseded: true, Reason: subjects.ReasonSuperseded, NextRunID: ids[1]}, *h.end)
	for i, id := range ids { // whoever was watching one of them
		c := watch(t, relays[i%2].URL, harness.Live("c", "run_id", id, "after_seq", 1))
		h := from(id, talk(fmt.Sprint("m", i))[:1])
		h.until(t, c, 3)
		require.Equal(t, last.ID(), h.run)
		require.Equal(t, want, h.state())
		c.Close()
	}
	finish(t, last, true)
	var view consumer.View
	ended := map[subjects.RunID]bool{}
	for !ended[last.ID()] {
		require.NoError(t, view.Apply(frame))
		if frame.Type == consumer.End {
			require.False(t, ended[frame.RunID], "the end of a run came again")
			ended[frame.RunID] = true
		}
		if !ended[last.ID()] {
			frame, err = follow.Next(ctx)
			require.NoError(t, err)
		}
	}
	require.Equal(t, want, harness.Reduce(view.Events()))
	_, err = follow.Next(ctx)
	require.ErrorIs(t, err, io.EOF)
}
