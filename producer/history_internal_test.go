package producer

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rejoin/rejoin/internal/agui"
)

// Whatever is added, given out for a segment and covered: the history holds every event behind
// the newest segment once and in order, and what it gave out stays as it was.
func TestHistoryKeepsEveryEvent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var h history
		var given []stored // for the segment that is being made
		var shown [][]byte // what that looked like
		var last uint64
		segments := 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				given, shown = h.next(), nil
				for _, s := range given {
					shown = append(shown, bytes.Clone(s.body))
				}
			case 1:
				given = nil
				if h.events > 0 {
					h.cover(rapid.Uint64Range(h.covered+1, last).Draw(t, "to"), segments)
					segments++
				}
			default:
				b := eventsBehind(t, last)
				last = b.last
				if h.add(stored{batch: b, streamSeq: last, messages: 1}) {
					clear(b.body[:cap(b.body)]) // as the next record does
					clear(b.marks[:cap(b.marks)])
				}
			}
			events, size, at := 0, 0, h.covered
			for _, s := range h.records {
				for line := range bytes.SplitSeq(s.body, []byte{'\n'}) {
					at++
					require.True(t, bytes.HasPrefix(line, fmt.Appendf(nil, "%d.", at)), "event %d is %.20q", at, line)
				}
				require.Equal(t, at, s.last)
				require.Equal(t, at, s.streamSeq)
				if s.marks != nil {
					require.Len(t, s.marks, s.n)
				}
				events += s.n
				size += len(s.body)
			}
			require.Equal(t, last, at)
			require.Equal(t, h.events, events)
			require.Equal(t, h.bytes, size)
			require.LessOrEqual(t, len(h.records), h.messages)
			for i, s := range given {
				require.Equal(t, string(shown[i]), string(s.body))
			}
		}
	})
}

// eventsBehind makes a record of events that begin with their numbers.
func eventsBehind(t *rapid.T, last uint64) batch {
	b := batch{n: rapid.IntRange(1, 4).Draw(t, "events")}
	var lines [][]byte
	for i := range b.n {
		text := fmt.Appendf(nil, "%d.", last+uint64(i)+1)
		lines = append(lines, append(text, bytes.Repeat([]byte{'x'}, rapid.SampledFrom([]int{0, 90, 300, 1500}).Draw(t, "size"))...))
	}
	b.last = last + uint64(b.n)
	b.body = slices.Grow(bytes.Join(lines, []byte{'\n'}), rapid.IntRange(0, 100).Draw(t, "room"))
	if rapid.IntRange(0, 9).Draw(t, "read back") > 0 {
		b.marks = make([]agui.Mark, b.n)
	}
	return b
}
