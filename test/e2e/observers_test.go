package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/producer"
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
	fell := fallOut(t, harness.Live("c"))
	h := &held{}
	h.until(t, fell.conn, uint64(len(fell.events)))
	require.Greater(t, h.snapshots, 1)
	require.True(t, slices.Equal(fell.events, h.events))
	require.Positive(t, fell.relay.Number("rejoin_gaps_total"))
	finish(t, fell.run, false)
	h.toEnd(t, fell.conn)
}

// A stock client cannot be told to forget what it has: for it that is an error, and
// never a clean close.
func TestAStockClientFallsOutOfTheWindow(t *testing.T) {
	t.Parallel()
	fell := fallOut(t, `{"chat_id":"c"}`)
	got := legacyEvents(t, fell.conn)
	last := len(got) - 1
	require.Equal(t, fell.events[:last], got[:last])
	require.Contains(t, got[last], `"type":"RUN_ERROR"`)
	require.Contains(t, got[last], `"code":"stream_gap"`)
}

// fallen is an open stream that is about to find itself behind the window.
type fallen struct {
	conn   *harness.Conn
	run    *producer.Run
	relay  *harness.Relay
	events []string // all that were published
}

// fallOut opens a stream, has it read its first events, and keeps the rest from it until
// its relay is stuck and the run far beyond what it replays.
func fallOut(t *testing.T, body string) *fallen {
	t.Helper()
	const window = 100
	f := harness.New(t, harness.Config{})
	r := f.Relay(harness.RelayConfig{Hub: consumer.HubConfig{GapThreshold: window}})
	front, url := f.Front(r)
	fell := &fallen{relay: r, run: f.Start(f.Producer(f.Connect()), "c")}
	more := func(n int) {
		var fresh []string
		for range n {
			fresh = append(fresh, fmt.Sprintf(`{"type":"CUSTOM","name":"n%d","value":%q}`, len(fell.events)+len(fresh), strings.Repeat("x", 16<<10)))
		}
		fell.events = append(fell.events, fresh...)
		publish(t, fell.run, fresh...)
	}
	fell.conn = watch(t, url, body)
	harness.Eventually(t, "the snapshot is out", func() bool { return r.Number("rejoin_frames_total", "STREAM_SNAPSHOT") == 1 })
	_, err := fell.conn.Peek(len(":\n\n"))
	require.NoError(t, err)
	release := front.Hold(proxy.Down)
	// The sockets in between take some; then nothing goes out however much is published.
	for sent, stuck := -1.0, 0; stuck < 4; {
		more(window / 2)
		now := r.Number("rejoin_frames_total", "STREAM_EVENT")
		if stuck++; now != sent {
			sent, stuck = now, 0
		}
	}
	release()
	return fell
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
