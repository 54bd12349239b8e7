package agui

// The chunks of an arena double from minChunk, so that a quiet run costs little,
// to maxChunk, so that a long one wastes at most that. It is the largest size that
// the Go allocator hands out from its free lists.
const (
	minChunk = 512
	maxChunk = 32 << 10
)

// arena is a byte string that grows at its end without ever being moved: a
// byte written is copied once, and once more by each reading.
type arena struct {
	full [][]byte
	last []byte
	size int
}

func (a *arena) write(p []byte) {
	a.size += len(p)
	n := min(len(p), cap(a.last)-len(a.last))
	a.last = append(a.last, p[:n]...)
	if p = p[n:]; len(p) == 0 {
		return
	}
	if len(a.last) > 0 {
		a.full = append(a.full, a.last)
	}
	chunk := max(minChunk, min(2*cap(a.last), maxChunk), len(p))
	a.last = append(make([]byte, 0, chunk), p...)
}

// pieces lists the bytes so far and then more, for reading only.
func (a *arena) pieces(more []byte) [][]byte {
	out := make([][]byte, 0, len(a.full)+2)
	return append(append(out, a.full...), a.last, more)
}
