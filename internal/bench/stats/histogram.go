package stats

import (
	"math/bits"
	"time"
)

const (
	// fine is how many buckets a power of two has: 1/128 is a width of less than 1 %.
	fineBits = 7
	fine     = 1 << fineBits

	// The largest duration that is told apart, in nanoseconds: 2^42, more than an hour.
	topBits = 42
	buckets = (topBits - fineBits + 1) * fine
)

// Histogram counts durations. The zero Histogram is empty. It takes 36 KiB however much
// it is given.
type Histogram struct {
	counts   [buckets]uint64
	n        uint64
	sum      float64
	min, max time.Duration
}

// Record counts one duration. A negative one, which only a clock that was set back makes,
// counts as 0.
func (h *Histogram) Record(d time.Duration) {
	d = max(d, 0)
	if h.n == 0 || d < h.min {
		h.min = d
	}
	h.max = max(h.max, d)
	h.n++
	h.sum += float64(d)
	h.counts[bucket(uint64(d))]++
}

// Merge adds what another one has counted.
func (h *Histogram) Merge(o *Histogram) {
	if o.n == 0 {
		return
	}
	if h.n == 0 || o.min < h.min {
		h.min = o.min
	}
	h.max = max(h.max, o.max)
	h.n += o.n
	h.sum += o.sum
	for i, c := range o.counts {
		h.counts[i] += c
	}
}

// Count is how many durations there are.
func (h *Histogram) Count() uint64 { return h.n }

// Min, Max and Mean are exact, and 0 where there is nothing.
func (h *Histogram) Min() time.Duration { return h.min }

// Max is the longest one.
func (h *Histogram) Max() time.Duration { return h.max }

// Mean is the average.
func (h *Histogram) Mean() time.Duration {
	if h.n == 0 {
		return 0
	}
	return time.Duration(h.sum / float64(h.n))
}

// Quantile is the duration that a share q of all do not exceed, within 1 %: 0.5 gives the
// median. 0 where there is nothing.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	rank := min(uint64(q*float64(h.n)), h.n-1) // how many are below
	for i, c := range h.counts {
		if rank < c {
			return min(max(middle(i), h.min), h.max)
		}
		rank -= c
	}
	return h.max
}

// bucket finds where a duration is counted: one bucket a nanosecond up to fine, after
// that fine buckets for each doubling.
func bucket(v uint64) int {
	if v < fine {
		return int(v)
	}
	shift := bits.Len64(v) - 1 - fineBits
	return min((shift+1)*fine+int(v>>shift)-fine, buckets-1)
}

// middle is the duration in the midst of a bucket.
func middle(i int) time.Duration {
	if i < fine {
		return time.Duration(i)
	}
	shift := i/fine - 1
	low := uint64(fine+i%fine) << shift
	return time.Duration(low + 1<<shift/2)
}
