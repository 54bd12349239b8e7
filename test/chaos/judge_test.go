package chaos_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// judge waits until everything is at rest, and looks whether it is as it should be.
func (m *model) judge() {
	from := time.Now()
	m.rest()
	m.Log("at rest after another", time.Since(from))
	for i := range modelChats {
		chat := fmt.Sprintf("chat %d", i)
		require.Equal(m, subjects.End{Persisted: true, Reason: subjects.ReasonDone}, m.ended(m.send(chat, "quick #last", runs.Behind)), chat)
	}
	m.watching.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[subjects.RunID]*runs.Entry{}
	logs := map[subjects.RunID][]string{}
	reasons := map[subjects.Reason]int{}
	for _, e := range m.entries() {
		all[e.RunID], logs[e.RunID] = e, m.log(e)
		reasons[e.End.Reason]++
	}
	m.Logf("%d runs, %d begun, %d messages, %d views, %d answers; ends: %v", len(all), len(m.begun), len(m.taken), len(m.views), len(m.answered), reasons)
	for id := range m.announced {
		assert.Contains(m, all, id, "announced")
	}
	m.judgeBeginnings()
	m.judgeViews(logs)
	m.judgeQuestions(all, logs)
	m.judgeMessages(all)
	m.judgeHistory(all, logs)
	m.judgeBroker(all)
}

// rest answers what is asked until every run has its end.
func (m *model) rest() {
	m.Helper()
	late := time.Now().Add(harness.Patience)
	for {
		var open []subjects.RunID
		for _, e := range m.entries() {
			if e.End == nil {
				open = append(open, e.RunID)
			}
			for _, q := range e.Questions {
				m.give(0, e.ChatID, e.RunID, q.RequestID, yes)
			}
		}
		if len(open) == 0 {
			return
		}
		if time.Now().After(late) {
			for _, id := range open {
				m.Logf("%+v", m.entry(id))
			}
			require.FailNow(m, "runs without an end", "%v", open)
		}
		time.Sleep(100 * time.Millisecond) // a look costs the broker something, and many runs give no one signal
	}
}

// subjectsOf lists the subjects of a stream that hold something, markers too.
func (w *world) subjectsOf(stream, filter string) map[string]uint64 {
	w.Helper()
	s, err := w.own.Store.JetStream().Stream(w.within(), stream)
	require.NoError(w, err)
	info, err := s.Info(w.within(), jetstream.WithSubjectFilter(filter))
	require.NoError(w, err)
	return info.State.Subjects
}

// entries are those of all runs.
func (w *world) entries() (all []*runs.Entry) {
	w.Helper()
	for subject := range w.subjectsOf(subjects.BucketStream, subjects.RunKeysSubject) {
		id, err := subjects.RunOfSubject(subject)
		require.NoError(w, err)
		if e, err := w.own.Store.Entry(w.within(), id); err == nil {
			all = append(all, e)
		}
	}
	return all
}

// judgeBeginnings wants no run to be begun twice, and those that one client has queued in a
// chat to be begun in the order in which they were accepted.
func (m *model) judgeBeginnings() {
	at := map[subjects.RunID]int{}
	for i, id := range m.begun {
		assert.NotContains(m, at, id, "begun twice")
		at[id] = i
	}
	type sender struct {
		n    int
		chat string
	}
	last := map[sender]int{}
	for _, s := range m.taken {
		i, begun := at[s.run]
		if !s.queued || !begun {
			continue
		}
		who := sender{s.sender, s.chat}
		if before, ok := last[who]; ok {
			assert.Greater(m, i, before, "run %s of sender %v is out of its turn", s.run, who)
		}
		last[who] = i
	}
}

// judgeViews wants whoever watched a run to its end to hold what the log holds, and so
// somebody who comes now.
func (m *model) judgeViews(logs map[subjects.RunID][]string) {
	want := map[subjects.RunID]*harness.State{}
	for id, events := range logs {
		want[id] = harness.Reduce([]byte(strings.Join(events, "\n")))
		now := m.Watch(m.relays[1].Hub, m.relays[1].Link, id, nil)
		assert.Equal(m, want[id], now.State, "run %s: a late reader", id)
		assert.EqualValues(m, len(events), now.Seq)
	}
	for _, v := range m.views {
		if !assert.NoError(m, v.err, "watching run %s from %d", v.run, v.after) || !assert.Contains(m, logs, v.seen.RunID) {
			continue
		}
		v.run = v.seen.RunID // where its own had ended, the chat may have gone on
		got, events := harness.Reduce(nil), logs[v.run]
		got.Apply([]byte(strings.Join(events[:min(v.after, uint64(len(events)))], "\n")))
		got.Apply([]byte(strings.Join(v.seen.Events, "\n")))
		assert.Equal(m, want[v.run], got, "run %s: a reader from %d", v.run, v.after)
		assert.EqualValues(m, len(events), v.seen.Seq)
		assert.Equal(m, m.entry(v.run).End, v.seen.End)
	}
}

// judgeQuestions wants one outcome of a question, which everybody was told who answered
// it, and the agent, and those who watch.
func (m *model) judgeQuestions(all map[subjects.RunID]*runs.Entry, logs map[subjects.RunID][]string) {
	for request, told := range m.outcomes {
		id, _, _ := strings.Cut(request, ":")
		c, err := m.own.Store.Control(m.within(), subjects.RunID(id), runs.ControlAnswer, request)
		if !assert.NoError(m, err, request) {
			continue
		}
		for _, outcome := range told {
			assert.JSONEq(m, string(c.Body), outcome, "%s: what was told of the answer", request)
		}
	}
	for request, got := range m.answered {
		id, _, _ := strings.Cut(request, ":")
		c, err := m.own.Store.Control(m.within(), subjects.RunID(id), runs.ControlAnswer, request)
		require.NoError(m, err)
		assert.Equal(m, string(c.Body), got, "%s: what the agent got", request)
	}
	for id, events := range logs {
		asked, closed := map[string]bool{}, map[string]string{}
		for _, line := range events {
			if !strings.Contains(line, "test.permission") {
				continue
			}
			var e struct {
				Type, Name string
				Value      json.RawMessage
			}
			require.NoError(m, json.Unmarshal([]byte(line), &e))
			var v struct{ RequestID, Status string }
			_ = json.Unmarshal(e.Value, &v)
			switch e.Name {
			case "test.permission.request":
				assert.False(m, asked[v.RequestID], "%s is asked twice", v.RequestID)
				asked[v.RequestID] = true
			case "test.permission.resolved":
				assert.Empty(m, closed[v.RequestID], "%s is closed twice", v.RequestID)
				closed[v.RequestID] = v.Status
				c, err := m.own.Store.Control(m.within(), id, runs.ControlAnswer, v.RequestID)
				require.NoError(m, err)
				if status, outcome, _ := c.Decided(v.Status); assert.Equal(m, status, v.Status) && outcome != nil {
					assert.Contains(m, line, string(outcome))
				}
			}
		}
		for request := range asked {
			assert.NotEmpty(m, closed[request], "%s is never closed; end %+v", request, all[id].End)
		}
		assert.Equal(m, runs.StateEnded, all[id].Doing(), "run %s", id)
	}
}

// judgeMessages wants each message that was accepted to be heard by an agent, unless the
// run that was to hear it ended before.
func (m *model) judgeMessages(all map[subjects.RunID]*runs.Entry) {
	asked := map[string]subjects.RunID{} // by what the turns are asked
	q := turns.New(m.own.Store, turns.Config{})
	for id := range all {
		t, err := q.Turn(m.within(), id)
		if !assert.NoError(m, err) {
			continue
		}
		for _, n := range numbers(agui.UserText(t.Input)) {
			asked[n] = id
		}
	}
	for _, s := range m.taken {
		heard := m.heard[s.number]
		assert.LessOrEqual(m, len(heard), 1, "message %s was heard by %v", s.number, heard)
		if len(heard) > 0 {
			continue
		}
		e := all[s.run]
		if own := asked[s.number]; own != "" {
			e = all[own] // its own turn, or the one after the run that was given it
		}
		if e == nil {
			continue // reported already
		}
		begun := slices.Contains(m.begun, e.RunID)
		switch e.End.Reason {
		case subjects.ReasonSuperseded, subjects.ReasonAbandoned:
		case subjects.ReasonStopped:
			assert.False(m, begun, "message %s is lost with run %s, which was begun", s.number, e.RunID)
		default:
			assert.Fail(m, "a message is lost", "%s, given to run %s: %+v", s.number, e.RunID, e.End)
		}
	}
}
