package runs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// A run's writer is fenced after it has told that a question is closed and before its entry
// says so: the run's end does not tell it again. What is open is closed.
func TestAQuestionIsClosedOnce(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	e := f.start("c", 1, "p")
	for _, id := range []string{"told", "again", "open"} {
		require.True(t, e.Ask(runs.Question{Name: "q", RequestID: id}))
	}
	require.NoError(t, f.store.UpdateEntry(t.Context(), e))
	resolved := func(id string) string {
		return `{"type":"CUSTOM","name":"q.resolved","value":{"requestId":"` + id + `","status":"answered"}}`
	}
	lines := []string{resolved("told"), resolved("again"), `{"type":"CUSTOM","name":"q.request","value":{"requestId":"again","status":"pending"}}`}
	last, err := f.store.Last(t.Context(), e.RunID)
	require.NoError(t, err)
	r := subjects.Record{Kind: subjects.KindEvents, Last: 3, Count: 3, Writer: e.Writer, Body: []byte(strings.Join(lines, "\n"))}
	_, err = f.store.Append(t.Context(), e.RunID, &r, last.StreamSeq)
	require.NoError(t, err)
	_, err = f.store.EndRun(t.Context(), e.RunID, subjects.End{Reason: subjects.ReasonAbandoned})
	require.NoError(t, err)
	page, err := f.store.Page(t.Context(), e.RunID, 0)
	require.NoError(t, err)
	words := string(page[len(page)-2].Body)
	require.NotContains(t, words, `"told"`)
	require.Contains(t, words, `"again"`)
	require.Contains(t, words, `"open"`)
}
