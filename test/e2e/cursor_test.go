package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// CUR-01: runs of just more than the window, of two windows and of very many events;
// cursors at the beginning, around the oldest event that can be replayed, and at the
// head; while the run is live and after it has ended.
func TestCUR01_CursorsOlderThanWhatIsKept(t *testing.T) {
	t.Parallel()
	const window = subjects.MaxRecordsPerRun
	for _, size := range []struct {
		events, atOnce uint64 // how many of them were published in a burst; the others alone
	}{{window + 1, 0}, {2 * window, window}, {100_000, 100_000}} {
		t.Run(fmt.Sprint(size.events), func(t *testing.T) {
			t.Parallel()
			f := harness.New(t, harness.Config{})
			relay := f.Relay(harness.RelayConfig{})
			run := f.Start(relay.Producer, "c")
			f.Publish(run, 1, size.atOnce)
			for seq := size.atOnce + 1; seq <= size.events; seq++ {
				f.Publish(run, seq, seq)
			}
			aroundTheWindow(t, relay, run, size.events, false)
			finish(t, run, false)
			aroundTheWindow(t, relay, run, size.events, true)
		})
	}
}

func aroundTheWindow(t *testing.T, relay *harness.Relay, run *producer.Run, head uint64, ended bool) {
	t.Helper()
	first := max(oldestKept(t, relay, run.ID()), head-subjects.GapThreshold+1)
	for _, after := range []uint64{0, 1, first - 2, first - 1, first, head - 1, head} {
		o := harness.At(run.ID(), after)
		c := watch(t, relay.URL, harness.Live("c", "run_id", run.ID(), "after_seq", after, "synced", true))
		if ended {
			require.NoError(t, o.ToEnd(bounded(t), c))
		} else {
			require.NoError(t, o.Until(bounded(t), c, head))
			f, err := c.Next(t.Context())
			require.NoError(t, err)
			require.Equal(t, consumer.Synced, f.Type)
		}
		require.NoError(t, o.Holds(head), "cursor %d of %d, ended %v", after, head, ended)
		require.Equal(t, after+1 >= first, o.Snapshots == 0, "cursor %d of %d, ended %v, first kept %d", after, head, ended, first)
		c.Close()
	}
}

// CUR-01: what a reader near the head costs does not grow with the history behind it.
func TestCUR01_ALongHistoryIsNotReadForACursorNearTheHead(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	link := f.Connect()
	run := f.Start(f.Producer(link), "c")
	const recent = 1000
	head := uint64(0)
	for _, events := range []uint64{5_000, 60_000} {
		f.Publish(run, head+1, events-recent)
		harness.Eventually(t, "the checkpoint of what came in a burst", func() bool {
			e, err := link.Store.Entry(t.Context(), run.ID())
			return err == nil && e.Seq > events-recent-subjects.SegmentEvents
		})
		f.Publish(run, events-recent+1, events)
		head = events
		for _, behind := range []uint64{0, 1, 600} {
			var read atomic.Int64
			relay := f.Relay(harness.RelayConfig{Steps: consumer.HubMetrics{Replay: func(n int) { read.Add(int64(n)) }}})
			o := harness.At(run.ID(), head-behind)
			c := watch(t, relay.URL, harness.Live("c", "run_id", run.ID(), "after_seq", head-behind, "synced", true))
			require.NoError(t, o.Until(bounded(t), c, head))
			require.NoError(t, o.Holds(head))
			require.LessOrEqual(t, read.Load(), int64(recent+subjects.SegmentEvents+subjects.MaxRecordEvents),
				"%d events behind the head at %d", behind, head)
		}
	}
}

// CUR-02: cursors that are none, by every route that takes one, on a run that is live,
// on one that has ended, and on one that is gone.
func TestCUR02_BadCursorsByEveryRoute(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	relay := f.Relay(harness.RelayConfig{})
	ids := map[string]subjects.RunID{}
	for _, chat := range []string{"gone", "live", "ended"} {
		run := f.Start(relay.Producer, chat)
		ids[chat] = run.ID()
		f.Publish(run, 1, 3)
		if chat != "live" {
			finish(t, run, false)
		}
		if chat == "gone" {
			sweep(t, relay.Store)
		}
	}
	for chat, id := range ids {
		get := func(after string) *harness.Conn {
			return ask(t, http.MethodGet, relay.URL+"/chat/live?"+query("chat_id", chat, "run_id", string(id), "after_seq", after), "")
		}
		last := func(after string) *harness.Conn {
			return ask(t, http.MethodGet, relay.URL+"/chat/live?"+query("chat_id", chat), "", "Last-Event-ID", string(id)+":"+after)
		}
		post := func(after string) *harness.Conn {
			return ask(t, http.MethodPost, relay.URL+"/chat/live", fmt.Sprintf(`{"chat_id":%q,"protocol":1,"run_id":%q,"after_seq":%s}`, chat, id, after))
		}
		for _, bad := range []string{"9007199254740992", "9007199254740993", "9223372036854775808", strings.Repeat("9", 400), "-1", "1.5", "true", "[]", "x"} {
			for route, c := range map[string]*harness.Conn{"post": post(bad), "get": get(bad), "Last-Event-ID": last(bad)} {
				require.Equal(t, http.StatusBadRequest, c.Status, "%s %s %s", chat, route, bad)
				require.Equal(t, "application/problem+json", c.Header.Get("Content-Type"))
				require.Contains(t, whole(t, c), `"code":"bad_request"`)
			}
		}
		require.Equal(t, http.StatusBadRequest, post(`"12"`).Status)
		// Ahead of the head, absent or null: a replacement snapshot, not a silent wait.
		ahead := []*harness.Conn{post("null"), get("")}
		for _, after := range []string{"4", "1000003", "9007199254740991"} {
			ahead = append(ahead, post(after), get(after), last(after))
		}
		for _, c := range ahead {
			if chat == "gone" {
				require.Equal(t, http.StatusNoContent, c.Status)
				continue
			}
			require.Equal(t, http.StatusOK, c.Status)
			h := &held{}
			require.Equal(t, consumer.Snapshot, h.frame(t, c).Type)
			require.Equal(t, []string{string(merged(3))}, h.events)
			if chat == "ended" {
				h.toEnd(t, c)
			}
		}
		// Before the first event is a cursor like any other.
		for _, c := range []*harness.Conn{post("0"), get("0"), last("0")} {
			if chat == "gone" {
				require.Equal(t, http.StatusNoContent, c.Status)
				continue
			}
			h := from(id, nil)
			h.until(t, c, 3)
			require.Zero(t, h.snapshots)
			require.True(t, slices.Equal([]string{string(harness.Delta(1)), string(harness.Delta(2)), string(harness.Delta(3))}, h.events))
		}
	}
}

// merged is the one event that the first n of numbered text fold into.
func merged(n uint64) []byte {
	return fmt.Appendf(nil, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":%q}`, harness.Text(n))
}
