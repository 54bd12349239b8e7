package runs_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// Whatever a run asks, its entry can be stored, also where messages are small.
func TestEntryTakesWhateverIsAsked(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{MaxPayload: 32 << 10})
	long := strings.Repeat("\x01", 250)
	var options []string
	for range 60 {
		options = append(options, long)
	}
	for name, ask := range map[string]func(i int) runs.Question{
		"small": func(i int) runs.Question { return runs.Question{Name: "q", RequestID: fmt.Sprint(i)} },
		"values": func(i int) runs.Question {
			return runs.Question{RequestID: fmt.Sprint(i), Value: json.RawMessage(`{"a":"` + strings.Repeat("<", 16<<10) + `"}`)}
		},
		"options": func(i int) runs.Question { return runs.Question{RequestID: fmt.Sprint(i), Options: options} },
		"names": func(i int) runs.Question {
			return runs.Question{Name: long, RequestID: long[:245] + fmt.Sprint(i), MessageID: long}
		},
		"value of no JSON": func(i int) runs.Question {
			return runs.Question{RequestID: fmt.Sprint(i), Value: json.RawMessage(`{`)}
		},
	} {
		e := f.start(name, 1, "p")
		for i := range 100 {
			e.AddMark(runs.Mark{Seq: uint64(i+1) << 40, StreamSeq: uint64(i+1) << 40})
		}
		noted := 0
		for i := range 100 {
			if e.Ask(ask(i)) {
				noted++
			}
		}
		require.NoError(t, f.store.UpdateEntry(t.Context(), e), name)
		require.Len(t, e.Questions, noted)
		require.Positive(t, noted, name)
		require.LessOrEqual(t, noted, 64)
		if name == "small" || name == "values" || name == "options" {
			require.Equal(t, 64, noted, name)
		}
		q, ok := e.Question(e.Questions[0].RequestID)
		require.True(t, ok)
		require.True(t, e.Ask(q), "asked again")
		require.Len(t, e.Questions, noted, "in the same place")
		require.True(t, e.Resolve(q.RequestID))
		require.False(t, e.Resolve(q.RequestID))
		require.Equal(t, runs.StateWaiting, e.Doing())
		// And it can be ended.
		_, err := f.store.EndRun(t.Context(), e.RunID, subjects.End{Reason: subjects.ReasonAbandoned})
		require.NoError(t, err, name)
	}
}

// asking starts a run that has asked things: answered and told, answered and not told,
// open, and an interrupt.
func (f *fabric) asking(chat string) *runs.Entry {
	f.Helper()
	e := f.start(chat, 1, "nobody")
	for _, id := range []string{"told", "answered", "open"} {
		require.True(f, e.Ask(runs.Question{Name: "q", RequestID: id, MessageID: "m-" + id, Value: json.RawMessage(`{"title":"T"}`)}))
	}
	require.True(f, e.Ask(runs.Question{Name: runs.InterruptName, RequestID: "interrupt", Interrupt: true}))
	e.Resolve("told")
	require.NoError(f, f.store.UpdateEntry(f.Context(), e))
	f.publish(e)
	_, _, err := f.store.PutControl(f.Context(), e.RunID, runs.Control{Kind: runs.ControlAnswer, ID: "answered", Body: json.RawMessage(`{"action":"accept"}`)})
	require.NoError(f, err)
	return e
}

// Whoever ends a run closes what it has asked, with the answer where there is one.
func TestAPP01_LostProducersQuestionsAreClosed(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	for name, end := range map[string]func(*runs.Entry) string{
		"lost": func(e *runs.Entry) string {
			f.sweepUntil(runs.NewJanitor(f.store, runs.JanitorConfig{Lease: time.Millisecond}), func() bool { return !f.entry(e.RunID).Active() })
			return "expired"
		},
		"superseded": func(e *runs.Entry) string {
			f.queued(e.ChatID, runs.Supersede)
			return "expired"
		},
		"stopped": func(e *runs.Entry) string {
			_, err := f.store.EndRun(t.Context(), e.RunID, subjects.End{Reason: subjects.ReasonStopped})
			require.NoError(t, err)
			return "cancelled"
		},
	} {
		e := f.asking(name)
		status := end(e)
		events, got := f.said(e.RunID)
		require.NotNil(t, got, name)
		require.Contains(t, events, fmt.Sprintf(`"value":{"requestId":"open","status":%q,"reason":%q}`, status, got.Reason))
		require.Contains(t, events, `"messageId":"m-open"`)
		require.Contains(t, events, `"value":{"requestId":"answered","status":"accepted","outcome":{"action":"accept"}}`)
		require.NotContains(t, events, `"told"`)
		require.NotContains(t, events, "interrupt")
		require.Equal(t, 4, strings.Count(events, "\n")-1, name)
		require.Empty(t, f.entry(e.RunID).Producer, "a janitor would have gone on, had it died before the end")
		c, err := f.store.Control(t.Context(), e.RunID, runs.ControlAnswer, "open")
		require.NoError(t, err)
		require.True(t, c.Closed, "no answer comes any more")
		_, err = f.store.Control(t.Context(), e.RunID, runs.ControlAnswer, "interrupt")
		require.ErrorIs(t, err, runs.ErrNotFound, "that one still may")
	}
}

// Whoever ended a run died between its last words and its end: the next one says nothing
// twice.
func TestLastWordsAreSaidOnce(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	whole := f.asking("whole")
	_, err := f.store.EndRun(t.Context(), whole.RunID, subjects.End{Reason: subjects.ReasonAbandoned})
	require.NoError(t, err)
	page, err := f.store.Page(t.Context(), whole.RunID, 0)
	require.NoError(t, err)
	words := page[len(page)-2]

	e := f.asking("died")
	last, err := f.store.Last(t.Context(), e.RunID)
	require.NoError(t, err)
	_, err = f.store.Append(t.Context(), e.RunID, &words.Record, last.StreamSeq)
	require.NoError(t, err)
	f.sweepUntil(runs.NewJanitor(f.store, runs.JanitorConfig{Lease: time.Millisecond}), func() bool { return !f.entry(e.RunID).Active() })
	events, end := f.said(e.RunID)
	require.Equal(t, subjects.ReasonAbandoned, end.Reason)
	require.Equal(t, 1, strings.Count(events, `"value":{"requestId":"open"`))

	// Several that end it at once.
	e = f.asking("at once")
	done := make(chan error, 8)
	for range 8 {
		go func() {
			_, err := f.store.EndRun(t.Context(), e.RunID, subjects.End{Reason: subjects.ReasonAbandoned})
			done <- err
		}()
	}
	for range 8 {
		require.NoError(t, <-done)
	}
	events, _ = f.said(e.RunID)
	require.Equal(t, 1, strings.Count(events, `"value":{"requestId":"open"`))
}

func TestTERM01_NothingFollowsATerminalEvent(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	e := f.asking("c")
	last, err := f.store.Last(t.Context(), e.RunID)
	require.NoError(t, err)
	r := event(last.Last+2, e.Writer)
	r.Count, r.Body = 2, []byte(`{"type":"RAW"}`+"\n"+`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`)
	_, err = f.store.Append(t.Context(), e.RunID, &r, last.StreamSeq)
	require.NoError(t, err)
	_, err = f.store.EndRun(t.Context(), e.RunID, subjects.End{Reason: subjects.ReasonAbandoned})
	require.NoError(t, err)
	events, _ := f.said(e.RunID)
	require.NotContains(t, events, "resolved")
	c, err := f.store.Control(t.Context(), e.RunID, runs.ControlAnswer, "open")
	require.NoError(t, err)
	require.True(t, c.Closed)
}
