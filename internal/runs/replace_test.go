package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
)

// Whoever decided to replace a run replaces that one, and no other that took the chat
// meanwhile.
func TestOnlyTheRunThatIsNamedIsReplaced(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	start := func(req runs.StartRequest) (*runs.Started, error) { return f.store.StartRun(f.Context(), req) }
	first, err := start(queuedRequest("c", runs.Reject))
	require.NoError(t, err)
	replace := queuedRequest("c", runs.Reject)
	replace.Replace = first.RunID
	second, err := start(replace)
	require.NoError(t, err)
	require.Equal(t, first.RunID, second.Older)
	require.True(t, f.entry(first.RunID).End.Superseded)
	_, err = start(replace) // decided when the first one was there
	var active *runs.AlreadyStreamingError
	require.ErrorAs(t, err, &active)
	require.Equal(t, second.RunID, active.RunID)
	require.True(t, f.entry(second.RunID).Active())
}
