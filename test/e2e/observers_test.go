package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/test/harness"
	"github.com/rejoin/rejoin/test/proxy"
)

// Observers of one run are independent: one leaves in the middle, one stops reading, one
// loses its connection, one is behind, and the others notice nothing.
func TestObserversAreIndependent(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	r := f.Relay(harness.RelayConfig{})
	run := f.Start(f.Producer(f.Connect()), "c")
	const total = 3000
	f.Publish(run, 1, 10)
	front, url := f.Front(r)
	steady := map[*harness.Observer]*harness.Conn{
		{}:                      watch(t, r.URL, harness.Live("c")),
		harness.At(run.ID(), 3): watch(t, r.URL, harness.Live("c", "run_id", run.ID(), "after_seq", 3)),
		harness.At(run.ID(), 9): ask(t, http.MethodGet, r.URL+"/chat/live?chat_id=c", "", "Last-Event-ID", string(run.ID())+":9"),
	}
	legacy := watch(t, r.URL, `{"chat_id":"c"}`)
	leaves, lost := watch(t, r.URL, harness.Live("c")), watch(t, url, harness.Live("c"))
	watch(t, r.URL, harness.Live("c")) // never reads
	gone := &harness.Observer{}
	require.NoError(t, gone.Until(bounded(t), leaves, 10))
	for o, c := range steady {
		require.NoError(t, o.Until(bounded(t), c, 10))
	}
	leaves.Close()
	front.Cut()
	_, err := lost.Rest()
	require.Error(t, err)
	f.Publish(run, 11, total)
	finish(t, run, false)
	for o, c := range steady {
		require.NoError(t, o.ToEnd(bounded(t), c))
		require.NoError(t, o.Holds(total))
		require.LessOrEqual(t, o.Snapshots, 1)
	}
	require.Equal(t, harness.Text(total), legacySays(t, legacy, len(harness.Text(total))))
}

// An observer that stops reading for so long that the run has gone past what can be
// replayed gets a snapshot on the same open stream, and goes on from there.
func TestAnObserverFallsOutOfTheWindow(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	r := f.Relay(harness.RelayConfig{
		Hub: consumer.HubConfig{GapThreshold: 100},
	})
	front, url := f.Front(r)
	run := f.Start(f.Producer(f.Connect()), "c")
	var events []string
	more := func(n int) {
		var fresh []string
		for range n {
			fresh = append(fresh, fmt.Sprintf(`{"type":"CUSTOM","name":"n%d","value":%q}`, len(events)+len(fresh), strings.Repeat("x", 16<<10)))
		}
		events = append(events, fresh...)
		publish(t, run, fresh...)
	}
	more(10)
	h, c := &held{}, watch(t, url, harness.Live("c"))
	h.until(t, c, 10)
	release := front.Hold(proxy.Down)
	stuck := func() bool { return r.Number("rejoin_frames_total", "STREAM_EVENT") < float64(len(events)-10-200) }
	for !stuck() { // as much as the sockets in between take, and then the window twice over
		more(100)
	}
	more(100)
	release()
	h.until(t, c, uint64(len(events)))
	require.Greater(t, h.snapshots, 1)
	require.Equal(t, events, h.events)
	require.Positive(t, r.Number("rejoin_gaps_total"))
	finish(t, run, false)
	h.toEnd(t, c)
}

// UNI-02: characters of three and four bytes, cut anywhere between a relay and a client
// that gets its answers a byte at a time.
func TestUNI02_CharactersSplitBetweenChunks(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	r := f.Relay(harness.RelayConfig{})
	run := f.Start(f.Producer(f.Connect()), "日本 🌦")
	publish(t, run, talk("ö", "\ufeffÄ", "日本語", "🌦🏳️‍🌈", "\u0000\u2028", strings.Repeat("漢🀄", 20_000))...)
	events := talk("ö", "\ufeffÄ", "日本語", "🌦🏳️‍🌈", "\u0000\u2028", strings.Repeat("漢🀄", 20_000))
	finish(t, run, false)
	client := consumer.Client{BaseURL: r.URL, HTTP: harness.ByteByByte()}
	for _, w := range []consumer.Watch{{ChatID: "日本 🌦"}, {ChatID: "日本 🌦", RunID: run.ID(), AfterSeq: new(uint64)}} {
		s := client.Watch(bounded(t), w)
		h := &held{run: w.RunID}
		for h.end == nil {
			frame, err := s.Next(t.Context())
			require.NoError(t, err)
			require.NoError(t, h.apply(frame))
		}
		s.Close()
		require.Equal(t, reduce(events), h.state())
		require.NotContains(t, strings.Join(h.events, ""), "\ufffd")
	}
}
