package producer

import (
	"bytes"

	"github.com/rejoin/rejoin/subjects"
)

// stored is a batch as the log keeps it.
type stored struct {
	batch
	streamSeq uint64 // of the record, or of the last part
	messages  int    // that the log keeps it in
}

// How much may be stored without a segment that covers it, before publishing waits.
const (
	// reserve is what the log must still take after the newest event: takeovers and
	// the end.
	reserve = 16
	// maxUncovered is what one run keeps in memory of it, in bytes, beside a mark for each event.
	maxUncovered = 32 << 20
)

// How much goes into one segment when checkpoints lag behind publishing: enough to
// catch up, not so much that a reader would have to take a huge value.
const (
	maxSegmentEvents = 8 * subjects.SegmentEvents
	maxSegmentBytes  = 4 * subjects.SegmentBytes
)

// history holds what is stored in the log and not covered by a segment yet. The
// zero value is that of a run without events.
type history struct {
	records  []stored // oldest first
	events   int
	bytes    int
	messages int    // of the log behind the one that holds covered, at least
	covered  uint64 // newest seq in a segment
	segments int    // how many there are
}

// add notes what was stored.
func (h *history) add(s stored) {
	s.batch = s.fitted()
	h.records = append(h.records, s)
	h.events += s.n
	h.bytes += len(s.body)
	h.messages += s.messages
}

// full says whether a batch of this size, stored in so many messages, has to wait
// for a segment: else the log would drop events that nothing else holds, or memory
// would grow without bound.
func (h *history) full(size, messages int) bool {
	if h.events == 0 {
		return false
	}
	return h.messages+messages+reserve > subjects.MaxRecordsPerRun || h.bytes+size > maxUncovered
}

// due says whether the next segment is to be stored.
func (h *history) due() bool {
	return h.events >= subjects.SegmentEvents || h.bytes >= subjects.SegmentBytes ||
		h.events > 0 && h.messages >= subjects.MaxRecordsPerRun/2
}

// next gives the oldest records, as many as belong into one segment.
func (h *history) next() []stored {
	events, size := 0, 0
	for i, s := range h.records {
		if i > 0 && (events+s.n > maxSegmentEvents || size+len(s.body) > maxSegmentBytes) {
			return h.records[:i:i]
		}
		events += s.n
		size += len(s.body)
	}
	return h.records[:len(h.records):len(h.records)]
}

// cover forgets the events up to seq, which the nth segment holds.
func (h *history) cover(seq uint64, n int) {
	h.covered, h.segments = seq, n+1
	for len(h.records) > 0 {
		s := &h.records[0]
		if s.last > seq {
			rest := s.after(seq)
			h.events -= s.n - rest.n
			h.bytes -= len(s.body) - len(rest.body)
			*s = rest
			break
		}
		h.events -= s.n
		h.bytes -= len(s.body)
		h.messages -= s.messages
		h.records[0] = stored{}
		h.records = h.records[1:]
	}
	if len(h.records) == 0 {
		h.records, h.messages = nil, 0
	}
}

// after gives what of a record follows seq, which lies within it: a segment of a
// former writer may end within a record.
func (s stored) after(seq uint64) stored {
	for first := s.last - uint64(s.n) + 1; first <= seq; first++ {
		s.body = s.body[bytes.IndexByte(s.body, '\n')+1:]
		if s.marks != nil {
			s.marks = s.marks[1:]
		}
		s.n--
	}
	return s
}
