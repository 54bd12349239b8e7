package e2e_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/test/harness"
)

// SEAM-02: the connection is lost without a word, the last events with it, and then
// nothing is published any more. Whoever comes back with the cursor has them.
func TestSEAM02_TheMissedTailComesWithTheCursor(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	r := f.Relay(harness.RelayConfig{})
	front, url := f.Front(r)
	run := f.Start(r.Producer, "c")
	f.Publish(run, 1, 40)
	for _, way := range []func(after uint64) *harness.Conn{
		func(after uint64) *harness.Conn {
			return watch(t, url, harness.Live("c", "run_id", run.ID(), "after_seq", after))
		},
		func(after uint64) *harness.Conn {
			return ask(t, http.MethodGet, url+"/chat/live?chat_id=c", "", "Last-Event-ID", fmt.Sprintf("%s:%d", run.ID(), after))
		},
	} {
		at := run.StoredSeq()
		c, o := way(at-1), harness.At(run.ID(), at-1)
		require.NoError(t, o.Until(t.Context(), c, at))
		front.Silence()
		f.Publish(run, at+1, at+5)
		again := way(o.Seq)
		require.NoError(t, o.Until(t.Context(), again, at+5))
		require.NoError(t, o.Holds(at+5))
		require.Zero(t, o.Snapshots)
	}
}

// SEAM-02: the client itself notices that nothing comes any more, not even a
// keep-alive, and does the same.
func TestSEAM02_TheClientNoticesTheSilence(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	r := f.Relay(harness.RelayConfig{Relay: relay.Config{KeepAlive: 20 * time.Millisecond}})
	front, url := f.Front(r)
	run := f.Start(r.Producer, "c")
	f.Publish(run, 1, 40)
	client := consumer.Client{BaseURL: url, IdleTimeout: 500 * time.Millisecond, Backoff: consumer.Backoff{Base: time.Millisecond}}
	s := client.Watch(t.Context(), consumer.Watch{ChatID: "c"})
	defer s.Close()
	o := &harness.Observer{}
	require.NoError(t, o.Until(bounded(t), s, 40))
	front.Silence()
	f.Publish(run, 41, 45)
	require.NoError(t, o.Until(bounded(t), s, 45))
	require.NoError(t, o.Holds(45))
	require.Equal(t, 1, o.Snapshots, "it came back with its cursor")
}

// SEAM-04: a run of 3,000 events, one reader in its middle and one at its beginning
// while the writer is fast. What is old comes first and complete, seqs strictly rise.
func TestSEAM04_ReplayComesBeforeLive(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	r := f.Relay(harness.RelayConfig{})
	run := f.Start(f.Producer(f.Connect()), "c")
	const early, total = 3000, 6000
	f.Publish(run, 1, early)
	readers := map[*harness.Observer]*harness.Conn{
		{}:                         watch(t, r.URL, harness.Live("c")),
		harness.At(run.ID(), 1500): watch(t, r.URL, harness.Live("c", "run_id", run.ID(), "after_seq", 1500)),
		harness.At(run.ID(), 2999): watch(t, r.URL, harness.Live("c", "run_id", run.ID(), "after_seq", 2999)),
	}
	published := make(chan error, 1)
	go func() {
		for i := uint64(early + 1); i <= total; i++ {
			if _, err := run.Publish(t.Context(), harness.Delta(i)); err != nil {
				published <- err
				return
			}
		}
		published <- nil
	}()
	for o, c := range readers {
		require.NoError(t, o.Until(bounded(t), c, total)) // it refuses what does not follow
		require.NoError(t, o.Holds(total))
	}
	require.NoError(t, <-published)
}

// SEAM-04: the run is silent, so nothing comes that would push a snapshot out. It is on
// the wire all the same, by every route, and so is what follows a cursor.
func TestSEAM04_ASilentRunIsShownAtOnce(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	r := f.Relay(harness.RelayConfig{Relay: relay.Config{KeepAlive: 15 * time.Second}})
	run := f.Start(r.Producer, "c")
	const events = 3000
	f.Publish(run, 1, events)
	for after := range map[uint64]bool{0: true, 1500: true, events - 1: true} {
		o := harness.At(run.ID(), after)
		require.NoError(t, o.Until(bounded(t), watch(t, r.URL, harness.Live("c", "run_id", run.ID(), "after_seq", after)), events))
		require.NoError(t, o.Holds(events))
	}
	for _, c := range []*harness.Conn{
		watch(t, r.URL, harness.Live("c")),
		ask(t, http.MethodGet, r.URL+"/chat/live?chat_id=c", ""),
	} {
		o := &harness.Observer{}
		require.NoError(t, o.Until(bounded(t), c, events))
		require.NoError(t, o.Holds(events))
	}
	legacy := watch(t, r.URL, `{"chat_id":"c"}`)
	require.Equal(t, harness.Text(events), legacySays(t, legacy, len(harness.Text(events))))
	require.EqualValues(t, 1, legacy.Comments(), "it did not wait for a keep-alive")
}
