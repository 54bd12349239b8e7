package chaos_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// judgeHistory wants what is said to be saved to be in the history, once, as it was.
func (m *model) judgeHistory(all map[subjects.RunID]*runs.Entry, logs map[subjects.RunID][]string) {
	saved := map[subjects.RunID]int{}
	for i := range modelChats {
		kept, err := history.Open(m.own.Store).Read(m.within(), "", fmt.Sprintf("chat %d", i), history.MaxLimit)
		require.NoError(m, err)
		require.Less(m, len(kept), history.MaxLimit)
		for _, t := range kept {
			saved[t.RunID]++
			var events []json.RawMessage
			require.NoError(m, json.Unmarshal(t.Events, &events))
			got := harness.Reduce(nil)
			for _, e := range events {
				got.Apply(e)
			}
			if e := all[t.RunID]; assert.NotNil(m, e) && e.End.Persisted {
				assert.Equal(m, harness.Reduce([]byte(strings.Join(logs[t.RunID], "\n"))), got, "run %s as it is saved", t.RunID)
			}
		}
	}
	unsaid := 0
	for id, e := range all {
		switch {
		case e.End.Persisted:
			assert.Equal(m, 1, saved[id], "run %s in the history", id)
		case saved[id] > 0:
			unsaid++
			assert.Contains(m, []subjects.Reason{subjects.ReasonAbandoned, subjects.ReasonSuperseded, subjects.ReasonSaveFailed, subjects.ReasonStopped, subjects.ReasonError}, e.End.Reason)
		}
		assert.LessOrEqual(m, saved[id], 1)
	}
	m.Log("saved and not known to be:", unsaid)
}

// judgeBroker wants nothing to be left in the broker that nobody needs, and nothing at
// all once every run has left.
func (m *model) judgeBroker(all map[subjects.RunID]*runs.Entry) {
	m.Helper()
	for i := range modelChats {
		p, err := m.own.Store.Pointer(m.within(), "", fmt.Sprintf("chat %d", i))
		require.NoError(m, err)
		assert.Empty(m, p.Queue)
	}
	harness.Eventually(m, "the work queue is empty", func() bool { return len(m.subjectsOf(subjects.TurnsStream, ">")) == 0 })
	streams := []string{subjects.TurnsStream, subjects.ControlStream, subjects.HistoryStream, subjects.BucketStream, subjects.RunsStream(0), subjects.RunsStream(1)}
	for _, name := range streams {
		s, err := m.own.Store.JetStream().Stream(m.within(), name)
		require.NoError(m, err)
		want := 0
		if name == subjects.TurnsStream {
			want = 1
		}
		assert.Equal(m, want, s.CachedInfo().State.Consumers, "consumers of %s", name)
	}
	j := runs.NewJanitor(m.own.Store, runs.JanitorConfig{Retention: time.Nanosecond, Tidy: time.Nanosecond})
	harness.Eventually(m, "every run has left", func() bool {
		require.NoError(m, j.Sweep(context.Background()))
		return len(m.entries()) == 0
	})
	harness.Eventually(m, "nothing of them is left", func() bool {
		require.NoError(m, j.Sweep(context.Background()))
		left := 0
		for _, at := range [][2]string{{subjects.RunsStream(0), ">"}, {subjects.RunsStream(1), ">"}, {subjects.ControlStream, ">"},
			{subjects.BucketStream, subjects.SegmentKeysSubject}, {subjects.BucketStream, subjects.TurnKeysSubject}} {
			left += len(m.subjectsOf(at[0], at[1]))
		}
		return left == 0
	})
}
