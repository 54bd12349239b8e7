package consumer

import "slices"

// A tail keeps the newest events of its run, so that an observer that comes back after a
// short while is served from memory. This bounds what it takes for that; the newest block
// stays whatever its size.
const tailBytes = 256 << 10

// Small events that come one by one are copied together: a broker's message has more header
// than such an event has bytes, and would be kept whole for it. A chunk of copies is twice
// as large as the one before it, until the largest; what is larger than copied is left where
// it is.
const (
	largestChunk = 8 << 10
	copied       = 4 << 10
)

// window is the newest blocks of a run: contiguous, oldest first, and no more than a tail
// may hold. The zero value is empty.
type window struct {
	blocks []block
	bytes  int  // that they take
	chunk  bool // the newest block is a chunk of copies, which grows while there is room
}

// takes is what a block takes, at most: with it a whole message may be kept.
func (b *block) takes() int { return cap(b.body) + recordRoom }

// add puts a block behind those there are, as it is. One that does not follow them makes
// them worthless: who still needs them replays.
func (w *window) add(b block) {
	if w.follows(&b) {
		w.chunk = false
		w.put(b)
	}
}

// copy is add for a block of which nothing is kept but its events, where those are few bytes.
func (w *window) copy(b block) {
	if !w.follows(&b) {
		return
	}
	size := len(b.body)
	if w.chunk {
		newest := &w.blocks[len(w.blocks)-1]
		if cap(newest.body)-len(newest.body) > size {
			newest.body = append(append(newest.body, '\n'), b.body...)
			newest.last, newest.stream = b.last, b.stream
			return
		}
		size = max(size, min(2*len(newest.body), largestChunk))
	}
	if w.chunk = len(b.body) <= copied; w.chunk {
		b.body = append(slices.Grow([]byte(nil), size), b.body...)
	}
	w.put(b)
}

// follows says whether a block is news, and makes room for one that does not follow the others.
func (w *window) follows(b *block) bool {
	n := len(w.blocks)
	if n == 0 {
		return true
	}
	last := w.blocks[n-1].last
	if b.last > last && b.first != last+1 {
		*w = window{}
	}
	return b.last > last
}

// put appends a block, and drops the oldest ones that there is no room for any more.
func (w *window) put(b block) {
	w.blocks = append(w.blocks, b)
	w.bytes += b.takes()
	drop := 0
	for len(w.blocks)-drop > 1 && w.bytes > tailBytes {
		w.bytes -= w.blocks[drop].takes()
		w.blocks[drop] = block{}
		drop++
	}
	w.blocks = w.blocks[drop:]
}

// find returns the block that holds seq; there is one.
func find(blocks []block, seq uint64) block {
	lo, hi := 0, len(blocks)-1
	for lo < hi {
		mid := (lo + hi + 1) / 2
		if blocks[mid].first <= seq {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return blocks[lo]
}

// seed gives the tail what a reader has read of the log, a window: the next one to come
// from there is served from memory. What does not lead up to the blocks there are, or to
// the newest event, is of no use.
func (t *tail) seed(read []block) {
	t.mu.Lock()
	defer t.mu.Unlock()
	until := t.known
	if len(t.blocks) > 0 {
		until = t.blocks[0].first - 1
	}
	for len(read) > 0 && read[len(read)-1].last > until {
		read = read[:len(read)-1]
	}
	if len(read) == 0 || read[len(read)-1].last != until {
		return
	}
	from := len(read)
	for from > 0 && t.bytes+read[from-1].takes() <= tailBytes {
		from--
		t.bytes += read[from].takes()
	}
	t.blocks = slices.Concat(read[from:], t.blocks)
}

// since gives the blocks that hold everything after seq, where the tail has it and it is
// not nothing.
func (t *tail) since(seq uint64) []block {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.blocks)
	if n == 0 || seq+1 < t.blocks[0].first || seq >= t.blocks[n-1].last || t.blocks[n-1].last < t.known {
		return nil
	}
	for i := range t.blocks {
		if t.blocks[i].last > seq {
			return slices.Clone(t.blocks[i:])
		}
	}
	return nil
}

// size is what the blocks take.
func (t *tail) size() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bytes
}
