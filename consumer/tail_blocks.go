package consumer

import "slices"

// A tail keeps the newest blocks of its run, so that an observer that comes back
// after a short while is served from memory. These bound what it may hold; the
// newest block stays whatever its size.
const (
	tailBlocks = 512
	tailBytes  = 256 << 10
)

// window is the newest blocks of a run: contiguous, oldest first, and no more than a tail
// may hold. The zero value is empty.
type window struct {
	blocks []block
	bytes  int
}

// add puts a block behind those there are. One that does not follow them makes them
// worthless: who still needs them replays.
func (w *window) add(b block) {
	if n := len(w.blocks); n > 0 {
		last := w.blocks[n-1].last
		if b.last <= last {
			return
		}
		if b.first != last+1 {
			*w = window{}
		}
	}
	w.blocks = append(w.blocks, b)
	w.bytes += len(b.body)
	drop := 0
	for len(w.blocks)-drop > 1 && (w.bytes > tailBytes || len(w.blocks)-drop > tailBlocks) {
		w.bytes -= len(w.blocks[drop].body)
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
	for from > 0 && len(read)-from+len(t.blocks) < tailBlocks && t.bytes+len(read[from-1].body) <= tailBytes {
		from--
		t.bytes += len(read[from].body)
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
