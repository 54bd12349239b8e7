package agui_test

import (
	"strings"
	"testing"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What is folded by marks that were made beforehand is what scanning again would give, also
// where the fold was cut or began with events that came without marks.
func TestFoldByMarks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events := genEvents(t)
		var marker agui.Marker
		marks := make([]agui.Mark, len(events))
		for i, raw := range events {
			var e agui.Event
			require.NoError(t, agui.Scan([]byte(raw), &e))
			marks[i] = marker.Mark(&e)
			require.Equal(t, len(raw), marks[i].Size())
		}
		var marked, scanned agui.Fold
		for from := 0; from < len(events); {
			to := rapid.IntRange(from+1, len(events)).Draw(t, "to")
			lines := []byte(strings.Join(events[from:to], "\n"))
			_, err := scanned.AddLines(lines)
			require.NoError(t, err)
			if from == 0 && rapid.Bool().Draw(t, "unmarked") {
				_, err := marked.AddLines(lines)
				require.NoError(t, err)
			} else {
				marked.AddMarked(lines, marks[from:to])
			}
			if rapid.IntRange(0, 3).Draw(t, "cut") == 0 {
				require.Equal(t, string(scanned.Cut()), string(marked.Cut()))
			}
			from = to
		}
		require.Equal(t, scanned.Count(), marked.Count())
		require.Equal(t, string(scanned.AppendTo(nil)), string(marked.AppendTo(nil)))
	})
}
