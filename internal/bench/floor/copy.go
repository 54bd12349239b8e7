package floor

import (
	"slices"
	"time"
)

// Copy is how long copying n bytes of memory takes, the median of several times.
func Copy(n int) time.Duration {
	if n <= 0 {
		return 0
	}
	from, to := make([]byte, n), make([]byte, n)
	copy(to, from) // pages are touched for the first time
	times := make([]time.Duration, 31)
	for i := range times {
		start := time.Now()
		copy(to, from)
		times[i] = time.Since(start)
	}
	slices.Sort(times)
	return times[len(times)/2]
}
