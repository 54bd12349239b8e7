package agui_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
)

// Whoever comes to a run after k events gets a snapshot of these and then the rest. Wherever k is, the stock client ends
// up with what the agent itself leaves it with.
func TestStockClientReadsSnapshotAndRest(t *testing.T) {
	t.Parallel()
	var jobs []job
	var of []recording
	for _, r := range recordings(t) {
		step := 1 + len(r.events)/64 // every cut of a short run, 64 cuts of a long one
		for k := 1; k <= len(r.events); k += step {
			jobs = append(jobs, job{r.input, agent(t, snapshotAndRest(t, r.events, k))})
			of = append(of, r)
		}
	}
	for i, got := range read(t, jobs...) {
		requireGolden(t, of[i], got)
	}
}

// snapshotAndRest is what is sent to an observer that comes after k events.
func snapshotAndRest(t *testing.T, events [][]byte, k int) []byte {
	t.Helper()
	var fold agui.Fold
	for _, event := range events[:k] {
		var e agui.Event
		require.NoError(t, agui.Scan(event, &e), "%s", event)
		fold.Add(&e)
	}
	var body []byte
	for event := range agui.Lines(fold.AppendTo(nil)) {
		body = append(body, frames(event)...)
	}
	return append(body, frames(events[k:]...)...)
}
