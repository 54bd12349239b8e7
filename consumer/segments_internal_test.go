package consumer

import (
	"container/list"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

func segmentsOf(sizes ...int) []runs.SegmentData {
	var all []runs.SegmentData
	for i, n := range sizes {
		all = append(all, runs.SegmentData{N: i, Events: make([]byte, n)})
	}
	return all
}

func TestSegmentsAreKeptWithinTheirRoom(t *testing.T) {
	t.Parallel()
	s := segments{limit: 100, runs: map[subjects.RunID]*list.Element{}}
	s.keep("none", nil)
	s.keep("a", segmentsOf(20, 20))
	s.keep("b", segmentsOf(50))
	require.Len(t, s.of("a"), 2)
	s.keep("c", segmentsOf(11)) // b is the one that was needed least lately
	require.Nil(t, s.of("b"))
	require.Len(t, s.of("a"), 2)
	require.Equal(t, 51, s.bytes)

	s.keep("a", segmentsOf(20, 20, 10))
	s.keep("a", segmentsOf(20)) // of somebody who began earlier
	require.Len(t, s.of("a"), 3)
	require.Equal(t, 61, s.bytes)
	s.keep("large", segmentsOf(101))
	require.Nil(t, s.of("large"))
	require.Len(t, s.of("a"), 3)
	s.keep("whole", segmentsOf(100))
	require.Len(t, s.of("whole"), 1)
	require.Nil(t, s.of("a"))

	s.dropUnused(time.Now().Add(-time.Hour))
	require.Len(t, s.of("whole"), 1)
	s.dropUnused(time.Now().Add(time.Hour))
	require.Nil(t, s.of("whole"))
	require.Zero(t, s.bytes)
	require.Empty(t, s.runs)
}
