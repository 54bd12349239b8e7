package relay

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// OPS-02: of the observers of a relay that dies no second has more than a fifth, whoever
// of them came first, as long as each was written to since they are as many as they are.
func TestOPS02_ObserversAreSpread(t *testing.T) {
	t.Parallel()
	all := newObservers(2000, time.Hour, time.Hour)
	const n = 1000
	told := make([]spreader, n)
	last := make([]string, n)
	for i := range n {
		_, _, err := all.admit(t.Context())
		require.NoError(t, err)
		told[i].over = all.spread
		for j := range i + 1 {
			if i == n-1 || j == i {
				if b := told[j].append(nil); len(b) > 0 {
					last[j] = string(b)
				}
			}
		}
	}
	seconds := map[int]int{}
	for _, line := range last {
		ms, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(line, "retry: "), "\n\n"))
		require.NoError(t, err)
		seconds[ms/1000]++
	}
	require.Greater(t, len(seconds), 5)
	for s, in := range seconds {
		require.Less(t, in, n/5, "in second %d", s)
	}
}

// A few observers are told nothing, and nobody the same thing again and again.
func TestSpreadIsToldWhenItChanges(t *testing.T) {
	t.Parallel()
	over := 100 * time.Millisecond
	s := spreader{over: func() time.Duration { return over }}
	require.Empty(t, s.append(nil), "clients wait that long by themselves")
	over = time.Second
	require.Regexp(t, `^retry: \d+\n\n$`, string(s.append(nil)))
	over += 50 * time.Millisecond
	require.Empty(t, s.append(nil), "it has hardly changed")
	over = 5 * time.Second
	require.NotEmpty(t, s.append(nil))
	over = 3 * time.Second
	require.Empty(t, s.append(nil))
	over = 0
	require.Equal(t, "retry: 0\n\n", string(s.append(nil)))
	require.Empty(t, s.append(nil))
	require.Empty(t, (&spreader{}).append(nil))
}
