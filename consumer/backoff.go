package consumer

import (
	"math/rand/v2"
	"time"
)

// Backoff is how long to wait before coming back: anything from nothing to a
// ceiling that doubles with every fruitless attempt. Full jitter, because the
// clients of a relay that died all come back at once, and should not do so in
// the same second.
type Backoff struct {
	Base time.Duration // ceiling after an attempt that brought something; 0 means 500 ms
	Max  time.Duration // highest ceiling; 0 means 15 s
}

// Ceiling is the longest wait after n fruitless attempts in a row.
func (b Backoff) Ceiling(n int) time.Duration {
	ceiling, highest := b.Base, b.Max
	if ceiling <= 0 {
		ceiling = 500 * time.Millisecond
	}
	if highest <= 0 {
		highest = 15 * time.Second
	}
	for range n {
		if ceiling >= highest/2 {
			return highest
		}
		ceiling *= 2
	}
	return min(ceiling, highest)
}

// Delay draws the wait after n fruitless attempts in a row, uniformly from 0 to Ceiling(n).
func (b Backoff) Delay(n int) time.Duration {
	return rand.N(b.Ceiling(n) + 1)
}
