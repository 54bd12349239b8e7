package turns_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// sent is one turn of the test.
type sent struct {
	chat string
	id   subjects.RunID
	seen *harness.Seen
}

// Two workers, one of which is killed again and again: every turn ends exactly once,
// none is begun twice, no chat is stuck, and whoever watched agrees with the history.
func TestWorkersAreKilled(t *testing.T) {
	t.Parallel()
	const chats, each, numbers = 40, 5, 20
	f := harness.New(t, harness.Config{Broker: harness.Networked(t), Lease: 2 * time.Second})
	relays := []*harness.Relay{f.Relay(harness.RelayConfig{}), f.Relay(harness.RelayConfig{})}
	note := filepath.Join(t.TempDir(), "begun")
	pace := 100 * time.Millisecond
	other, victim := f.WorkerProcess(note, pace), f.WorkerProcess(note, pace)

	ctx, cancel := context.WithTimeout(t.Context(), 2*harness.Patience)
	defer cancel()
	for i := 0; !begun(note, other.ID()) || !begun(note, victim.ID()); i++ { // both are there
		run := send(ctx, t, relays[0].URL, fmt.Sprintf("warm%d", i), "1")
		f.Watch(relays[0].Hub, relays[0].Link, run, nil)
	}
	all := make([]*sent, chats*each)
	var watching errgroup.Group
	for i := range all {
		s := &sent{chat: fmt.Sprintf("c%d", i%chats)}
		all[i] = s
		s.id = send(ctx, t, relays[i%2].URL, s.chat, fmt.Sprint(numbers))
		watching.Go(func() (err error) {
			stream := (&consumer.Client{BaseURL: relays[rand.IntN(2)].URL}).Watch(ctx, consumer.Watch{ChatID: s.chat, RunID: s.id})
			defer stream.Close()
			if s.seen, err = harness.See(ctx, stream, nil); err != nil {
				return fmt.Errorf("run %s in %s: %w", s.id, s.chat, err)
			}
			return nil
		})
	}
	over := make(chan struct{})
	var killing sync.WaitGroup
	killing.Go(func() {
		for range 10 {
			if !begins(over, note, victim.ID()) {
				return
			}
			time.Sleep(rand.N(numbers * pace)) // somewhere in what it is doing

			victim.Kill()
			victim = f.WorkerProcess(note, pace)
		}
	})
	err := watching.Wait()
	close(over)
	killing.Wait()
	require.NoError(t, err)

	times := map[string]int{} // that each run was begun
	lines, err := os.ReadFile(note)
	require.NoError(t, err)
	for line := range strings.Lines(string(lines)) {
		id, _, _ := strings.Cut(line, " ")
		times[id]++
	}
	saved := history.Open(relays[0].Store)
	reasons := map[subjects.Reason]int{}
	for _, s := range all {
		require.LessOrEqual(t, times[string(s.id)], 1, "run %s", s.id)
		reasons[s.seen.End.Reason]++
		require.Empty(t, s.seen.State.Unknown)
		turns, err := saved.Read(ctx, "", s.chat, 0)
		require.NoError(t, err)
		at := -1
		for i, turn := range turns {
			if turn.RunID == s.id {
				require.Equal(t, -1, at, "saved once")
				at = i
			}
		}
		switch s.seen.End.Reason {
		case subjects.ReasonDone:
			require.True(t, s.seen.End.Persisted)
			require.Equal(t, 1, times[string(s.id)])
			require.NotEqual(t, -1, at)
			require.Equal(t, s.seen.State, reduce(t, turns[at].Events))
		case subjects.ReasonAbandoned:
			require.False(t, s.seen.End.Persisted)
		default:
			require.Fail(t, "unexpected end", "%+v", s.seen.End)
		}
	}
	t.Logf("ends: %v", reasons)
	require.Positive(t, reasons[subjects.ReasonDone])
	require.Positive(t, reasons[subjects.ReasonAbandoned], "somebody was killed in the middle")
}

// begins waits until a worker has begun a turn; false once the test is over.
func begins(over <-chan struct{}, note string, worker int) bool {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		if begun(note, worker) {
			return true
		}
		select {
		case <-over:
			return false
		case <-look.C:
		}
	}
}

// begun says whether a worker has begun a turn.
func begun(note string, worker int) bool {
	lines, _ := os.ReadFile(note) // missing before the first turn
	return strings.Contains(string(lines), fmt.Sprintf(" %d\n", worker))
}

// reduce is what a client makes of saved events.
func reduce(t *testing.T, array json.RawMessage) *harness.State {
	t.Helper()
	var events []json.RawMessage
	require.NoError(t, json.Unmarshal(array, &events))
	s := harness.Reduce(nil)
	for _, e := range events {
		s.Apply(e)
	}
	return s
}

// send sends a text to a chat, where it waits for its turn.
func send(ctx context.Context, t *testing.T, url, chat, text string) subjects.RunID {
	t.Helper()
	body, err := json.Marshal(map[string]any{"chat_id": chat, "input": map[string]string{"text": text}, "on_active": "queue"})
	require.NoError(t, err)
	c, err := harness.Ask(ctx, http.MethodPost, url+"/chat/send", string(body))
	require.NoError(t, err)
	answer, err := c.Rest()
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, c.Status, answer)
	var got struct {
		RunID subjects.RunID `json:"run_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &got))
	return got.RunID
}
