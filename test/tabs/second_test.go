package tabs_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// cron starts a run that no tab has asked for.
func (r *rig) cron(chat string) subjects.RunID {
	r.Helper()
	p := r.Producer(r.Connect())
	run := r.Start(p, chat)
	r.Publish(run, 1, words)
	_, err := run.Finish(r.within(), producer.FinishOptions{Persisted: true})
	require.NoError(r, err)
	return run.ID()
}

// TAB-03: a tab at another relay that only waits for its chat's next run sees each of them
// from the beginning, and finds what was asked in the history.
func TestTAB03_ATabThatWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t, relay.Config{})
	a, b := r.plain(), r.plain()
	var last subjects.RunID // what the second tab has shown to its end
	next := func() <-chan *harness.Seen {
		seen := make(chan *harness.Seen, 1)
		go func() {
			defer close(seen)
			for {
				s, err := r.await(b)
				if err != nil {
					r.Error(err)
					return
				}
				// A moment after its end a run may be given once more.
				if s.RunID != last {
					last = s.RunID
					seen <- s
					return
				}
			}
		}()
		harness.Eventually(t, "the second tab waits", func() bool { return r.relays[1].Number("rejoin_waiters") == 1 })
		return seen
	}
	for i := range 3 {
		waiting := next()
		asked := fmt.Sprint("message", i)
		id := r.send(a, "c", asked)
		seen := <-waiting
		require.NotNil(t, seen)
		require.Equal(t, id, seen.RunID)
		require.Equal(t, answerTo(asked), text(seen.Events...))
		require.True(t, seen.End.Persisted)
		r.saved(b, i+1)
	}
	waiting := next()
	id := r.cron("c")
	seen := <-waiting
	require.NotNil(t, seen)
	require.Equal(t, id, seen.RunID)
	require.Equal(t, harness.Text(words), text(seen.Events...))
}

// await waits for the chat's next run and reads it to its end.
func (r *rig) await(c *http.Client) (*harness.Seen, error) {
	t, err := r.ask(c, 1, http.MethodPost, "/chat/live", harness.Live("c", "wait_ms", 30000))
	if err != nil {
		return nil, err
	}
	defer t.close()
	if t.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("no run came: %s", t.Status)
	}
	return harness.See(r.within(), t, nil)
}

// saved wants the history to hold what was asked and answered so far.
func (r *rig) saved(c *http.Client, n int) {
	r.Helper()
	turns := r.do(c, 1, http.MethodGet, "/chat/c/history", "").Turns
	require.Len(r, turns, n)
	for i, turn := range turns {
		asked := fmt.Sprint("message", i)
		require.Equal(r, asked, turn.Input.Text)
		require.Equal(r, answerTo(asked), textOf(r, turn.Events))
	}
}

// TAB-03: a tab that has only the feed open sees every run of its chats in order, however
// fast they follow each other and whoever starts them.
func TestTAB03_ATabWithTheFeed(t *testing.T) {
	t.Parallel()
	r := newRig(t, relay.Config{})
	a, b := r.plain(), r.plain()
	feed := r.open(b, 1, http.MethodGet, "/runs/active", "")
	m, err := feed.sse.Next()
	require.NoError(t, err)
	require.Equal(t, "snapshot", m.Event)
	require.JSONEq(t, `{"runs":[]}`, string(m.Data))

	started := make(chan []subjects.RunID, 1)
	go func() {
		var ids []subjects.RunID
		for i := range 3 {
			asked := fmt.Sprintf(`{"chat_id":"c","on_active":"queue","input":{"text":"message%d"}}`, i)
			ids = append(ids, r.do(a, 0, http.MethodPost, "/chat/send", asked).RunID)
		}
		started <- ids
	}()
	var order []subjects.RunID
	states := map[subjects.RunID][]string{}
	see := func(runs int) {
		t.Helper()
		for ended := 0; ended < runs; {
			m, err := feed.sse.Next()
			require.NoError(t, err)
			require.Equal(t, "run", m.Event)
			var run liveRun
			require.NoError(t, json.Unmarshal(m.Data, &run))
			require.Equal(t, "c", run.ChatID)
			if len(states[run.RunID]) == 0 {
				order = append(order, run.RunID)
			}
			states[run.RunID] = append(states[run.RunID], run.State)
			if run.State == "ended" {
				require.Equal(t, subjects.ReasonDone, run.Reason)
				ended++
				snapshot := r.do(b, 1, http.MethodGet, "/runs/"+string(run.RunID)+"/snapshot", "")
				require.Equal(t, http.StatusOK, snapshot.Status)
				said := harness.Text(words)
				if i := len(order); i <= 3 {
					said = answerTo(fmt.Sprint("message", ended-1))
				}
				require.Equal(t, said, textOf(t, snapshot.Events))
			}
		}
	}
	see(3)
	ids := <-started
	require.Equal(t, ids, order)
	for _, id := range ids { // some may be passed over, never the end, and none comes again
		at := -1
		for _, state := range states[id] {
			i := slices.Index([]string{"queued", "running", "finishing", "ended"}, state)
			require.Greater(t, i, at, "%v", states[id])
			at = i
		}
		require.Equal(t, 3, at, "%v", states[id])
	}
	r.saved(b, 3)
	cron := r.cron("c")
	see(1)
	require.Equal(t, append(ids, cron), order)
	require.Empty(t, r.do(b, 1, http.MethodGet, "/runs/active", "", "Accept", "application/json").Runs)
}
