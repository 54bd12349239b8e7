package relay

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// AUTH-02: streams whose credentials end together are cut at different moments, none of
// them after that end and none long before it.
func TestAUTH02_CutsAreSpread(t *testing.T) {
	t.Parallel()
	for _, left := range []time.Duration{2 * time.Second, time.Minute, 10 * time.Minute, 24 * time.Hour} {
		spread := min(left/10, maxExpirySpread)
		moments := map[time.Duration]bool{}
		earliest, latest := left, time.Duration(0)
		for range 1000 {
			cut := untilCut(left)
			require.LessOrEqual(t, cut, left, "no stream outlives its credential")
			require.GreaterOrEqual(t, cut, left-spread)
			earliest, latest = min(earliest, cut), max(latest, cut)
			moments[cut] = true
		}
		require.Greater(t, len(moments), 900)
		require.Greater(t, latest-earliest, spread/2, "over all of the time that there is for it")
	}
	for _, left := range []time.Duration{0, time.Millisecond, 999 * time.Millisecond} {
		require.Equal(t, left, untilCut(left), "who has just come back is not sent away sooner")
	}
	require.Negative(t, untilCut(-time.Second), "what has ended ends at once")
}
