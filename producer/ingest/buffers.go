package ingest

import "sync"

// The sizes of buffers that are used again. A body that brings an event now and then does with
// a small one; one at full speed gets as much from the network at once as the large one takes.
const (
	smallBuffer = 4 << 10
	largeBuffer = 64 << 10
)

var (
	smallBuffers = sync.Pool{New: func() any { return new([smallBuffer]byte) }}
	largeBuffers = sync.Pool{New: func() any { return new([largeBuffer]byte) }}
)

// newBuffer gives an empty buffer for so many bytes. -1 is an unknown number, which begins small.
func newBuffer(size int64) []byte {
	switch {
	case size <= smallBuffer:
		return smallBuffers.Get().(*[smallBuffer]byte)[:0]
	case size <= largeBuffer:
		return largeBuffers.Get().(*[largeBuffer]byte)[:0]
	}
	return make([]byte, 0, size)
}

// larger is the size that follows on one that does not suffice.
func larger(size int) int {
	switch {
	case size < largeBuffer:
		return largeBuffer
	case size < freeRoom:
		return 2 * size
	}
	return size + max(roomStep, size/4) // what is held is counted in such steps
}

// recycle takes back a buffer that nobody uses any more.
func recycle(b []byte) {
	switch cap(b) {
	case smallBuffer:
		smallBuffers.Put((*[smallBuffer]byte)(b[:smallBuffer]))
	case largeBuffer:
		largeBuffers.Put((*[largeBuffer]byte)(b[:largeBuffer]))
	}
}
