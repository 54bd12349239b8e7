package floor

import "sync"

// topic keeps the frames of its events, one after the other: each is made once, and all
// that a reader lacks is one piece.
type topic struct {
	mu     sync.Mutex
	frames []byte
	ends   []int // where each event's frame ends
	more   chan struct{}
}

func (t *topic) add(event []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frames = append(t.frames, "data: "...)
	t.frames = append(t.frames, event...)
	t.frames = append(t.frames, "\n\n"...)
	t.ends = append(t.ends, len(t.frames))
	close(t.more)
	t.more = make(chan struct{})
}

// position is where the frames after the nth event begin; n below 0, or beyond the last,
// means those to come.
func (t *topic) position(n int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case n < 0 || n >= len(t.ends):
		return len(t.frames)
	case n == 0:
		return 0
	}
	return t.ends[n-1]
}

// after are the frames from a position on, and what is closed when there are more. They
// must not be changed.
func (t *topic) after(pos int) (frames []byte, more <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.frames[pos:], t.more
}
