package chaos_test

import (
	"bytes"
	"encoding/json"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// log reads a run's events as they are stored, and looks whether they are dense, whether
// there is one end and nothing behind it, and whether anything follows a terminal event.
func (w *world) log(e *runs.Entry) (events []string) {
	w.Helper()
	ends, terminal := 0, ""
	var parts []byte
	for from := e.FirstStreamSeq; ; {
		page, err := w.own.Store.Page(w.within(), e.RunID, from)
		require.NoError(w, err)
		if len(page) == 0 {
			break
		}
		for _, r := range page {
			from = r.StreamSeq + 1
			assert.Zero(w, ends, "run %s: %s behind the end", e.RunID, r.Kind)
			body := r.Body
			switch r.Kind {
			case subjects.KindEnd:
				ends++
				assert.Equal(w, *e.End, *r.End(), "run %s: entry and log", e.RunID)
				assert.EqualValues(w, len(events), r.Last, "run %s: seq of the end", e.RunID)
				continue
			case subjects.KindPart:
				if r.Part == 1 {
					parts = nil
				}
				if parts = append(parts, r.Body...); r.Part < r.Parts {
					continue
				}
				body = parts
			case subjects.KindEvents:
			default:
				continue
			}
			for line := range bytes.SplitSeq(body, []byte{'\n'}) {
				var ev struct{ Type string }
				if !bytes.HasPrefix(line, []byte(`{"type":"TEXT_MESSAGE_CONTENT"`)) { // thousands
					require.NoError(w, json.Unmarshal(line, &ev))
				}
				assert.Empty(w, terminal, "run %s: %.200s behind a terminal event", e.RunID, line)
				if ev.Type == "RUN_FINISHED" || ev.Type == "RUN_ERROR" {
					terminal = string(line)
				}
				events = append(events, string(line))
			}
			assert.EqualValues(w, len(events), r.Last, "run %s: dense seqs", e.RunID)
		}
	}
	assert.Equal(w, 1, ends, "run %s: ends", e.RunID)
	if e.End.Reason == subjects.ReasonDone {
		assert.Contains(w, terminal, "RUN_FINISHED", "run %s", e.RunID)
	}
	return events
}
