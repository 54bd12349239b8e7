package ingest

import "sync/atomic"

const (
	// roomBytes bounds what the large lines of all bodies that are being read take together:
	// a line that does not end would otherwise cost whoever sends it nothing, and this process
	// its memory.
	roomBytes = 256 << 20
	// freeRoom is how much of each line is not counted.
	freeRoom = 1 << 20
	// roomStep is how much is taken at a time.
	roomStep = 1 << 20
)

// room is what all large lines share. Nobody waits for it, or lines that never end would
// keep it for ever.
type room struct {
	most  int64
	taken atomic.Int64
}

func (r *room) take(n int64) bool {
	if r.taken.Add(n) <= r.most {
		return true
	}
	r.taken.Add(-n)
	return false
}

func (r *room) give(n int64) { r.taken.Add(-n) }
