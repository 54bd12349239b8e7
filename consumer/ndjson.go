package consumer

import (
	"bytes"
	"iter"

	"github.com/rejoin/rejoin/internal/agui"
)

// NDJSON is events, one a line, in texts that follow one another: those that a snapshot is
// made of, since joining them would copy all of it. None of them is empty or ends with a
// line break. The zero value has no events.
type NDJSON [][]byte

// Len is how many bytes the joined text has.
func (n NDJSON) Len() int {
	size := max(0, len(n)-1)
	for _, text := range n {
		size += len(text)
	}
	return size
}

// Lines gives the events in order.
func (n NDJSON) Lines() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, text := range n {
			for line := range agui.Lines(text) {
				if !yield(line) {
					return
				}
			}
		}
	}
}

// Join gives all events as one text: the only one where there is one, else a copy.
func (n NDJSON) Join() []byte {
	if len(n) == 1 {
		return n[0]
	}
	return bytes.Join(n, []byte{'\n'})
}
