package chats_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// all does something n times at once, half of it at each relay.
func all(n int, do func(i, relay int) answer) []answer {
	answers := make([]answer, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			answers[i] = do(i, i%2)
		})
	}
	close(start)
	wg.Wait()
	return answers
}

// SEND-01: of twenty sends at once one wins, and the others learn which.
func TestSEND01_OneOfManySendsWins(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	for round := range 3 {
		chat := fmt.Sprint("c", round)
		answers := all(20, func(i, relay int) answer {
			return f.post(relay, "/chat/send", `{"chat_id":%q,"input":{"text":"%d"}}`, chat, i)
		})
		winner := slices.IndexFunc(answers, func(a answer) bool { return a.Status == http.StatusAccepted })
		require.GreaterOrEqual(t, winner, 0)
		for i, a := range answers {
			require.Equal(t, answers[winner].RunID, a.RunID, "the loser can attach")
			if i != winner {
				require.Equal(t, http.StatusConflict, a.Status, a.Body)
				require.Equal(t, "already_streaming", a.Code)
			}
		}
		r := f.begin(false)
		require.Equal(t, answers[winner].RunID, r.ID())
		turn, err := f.queue.Turn(f.within(), r.ID())
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf(`{"text":"%d"}`, winner), string(turn.Input), "no other message got in")
		f.Publish(r, 1, 3)
		f.finish(r, done)
	}
	entries, err := f.link.Store.Entry(f.within(), f.send("c0", ""))
	require.NoError(t, err)
	require.EqualValues(t, 2, entries.Generation, "the losers left nothing in the chat")
}

func TestSEND01_OneTokenIsOneRun(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	for _, onActive := range []string{"reject", "queue", "supersede"} {
		answers := all(20, func(i, relay int) answer {
			return f.post(relay, "/chat/send", `{"chat_id":%q,"input":{"text":"x"},"client_token":"t","on_active":%q}`, onActive, onActive)
		})
		for _, a := range answers {
			require.Equal(t, http.StatusAccepted, a.Status, a.Body)
			require.Equal(t, answers[0].RunID, a.RunID)
			require.Equal(t, answers[0].TurnID, a.TurnID)
		}
		r := f.begin(false)
		require.Equal(t, answers[0].RunID, r.ID())
		f.finish(r, done)
		// A retry after all is over, with the stream this time.
		c := f.open(1, http.MethodPost, "/chat", fmt.Sprintf(`{"chat_id":%q,"protocol":1,"input":{"text":"x"},"client_token":"t"}`, onActive))
		seen, err := harness.See(f.within(), c, nil)
		require.NoError(t, err)
		require.True(t, seen.End.Persisted)
		require.EqualValues(t, answers[0].RunID, c.Header.Get("Rejoin-Run-Id"))
	}
}

// Turns that wait get their time one after the other, in the order in which they were sent.
func TestQueuedTurnsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	var ids []subjects.RunID
	for range 6 {
		ids = append(ids, f.send("c", `,"on_active":"queue"`))
	}
	require.Equal(t, http.StatusAccepted, f.stop(1, "c", ids[3]).Status, "one is stopped while it waits")
	for i, id := range ids {
		if i == 3 {
			require.Equal(t, "ended", f.state(id))
			continue
		}
		early := f.open(i%2, http.MethodPost, "/chat/live", harness.Live("c", "run_id", id))
		r := f.begin(false)
		require.Equal(t, id, r.ID())
		require.Equal(t, "running", f.state(id))
		f.Publish(r, 1, 3)
		f.finish(r, done)
		seen, err := harness.See(f.within(), early, nil)
		require.NoError(t, err)
		require.Equal(t, harness.Text(3), text(seen))
	}
}

// SEND-02: a chain of replacements resolves to the last one, for whoever watched any.
func TestSEND02_AChainOfReplacements(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	first := f.send("c", "")
	c := f.open(0, http.MethodPost, "/chat/live", harness.Live("c"))
	r := f.begin(false)
	f.Publish(r, 1, 300)
	var last subjects.RunID
	for range 19 {
		last = f.send("c", `,"kind":"retry"`)
	}
	// The first one's producer has not noticed yet.
	for i := range uint64(50) {
		_, _ = r.Publish(f.within(), harness.Delta(301+i))
	}
	_, _ = r.Flush(f.within())
	require.ErrorIs(t, r.Err(), producer.ErrSuperseded)
	seen, err := harness.See(f.within(), c, nil)
	require.NoError(t, err)
	require.True(t, seen.End.Superseded)
	require.NotEmpty(t, seen.End.NextRunID)
	require.Equal(t, harness.Text(300), text(seen), "late events reach nobody")
	r = f.begin(false)
	require.Equal(t, last, r.ID(), "those in between never do work")
	f.publish(r, `{"type":"RUN_STARTED","threadId":"c","runId":"r"}`)
	f.finish(r, done)
	again := f.open(1, http.MethodPost, "/chat/live", harness.Live("c", "run_id", first, "after_seq", 300))
	require.EqualValues(t, last, again.Header.Get("Rejoin-Run-Id"))
	seen, err = harness.See(f.within(), again, nil)
	require.NoError(t, err)
	require.False(t, seen.End.Superseded)
	require.Len(t, seen.Events, 1)
}
