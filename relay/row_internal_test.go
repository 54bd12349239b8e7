package relay

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A row of a run that says nothing does not grow with those who come and go.
func TestComingAndGoingLeavesNothingInASilentRow(t *testing.T) {
	t.Parallel()
	r := &row{cancel: func() {}}
	first := &member{back: make(chan struct{}, 1)}
	r.sit(first)
	for range 1000 {
		m := &member{back: make(chan struct{}, 1)}
		require.True(t, r.add(m))
		m.leave()
	}
	require.LessOrEqual(t, len(r.members), 2)
	require.Same(t, first, r.members[first.at])
	require.Equal(t, 1, r.size())
}
