package producer

import (
	"bytes"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/subjects"
)

// stored is consecutive events as the log keeps them, in one record or several.
type stored struct {
	batch
	streamSeq uint64 // of the newest record, or of its last part
	messages  int    // that the log keeps it in
}

// Small records are kept together, in blocks: for each of its own a record would take about as
// much memory again as its events. The first blocks after a segment are smaller, since many
// runs have only few events.
const (
	smallRecord   = 1 << 10
	smallestBlock = 512
	largestBlock  = 4 << 10
)

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
	open     bool     // the newest of them is a block to which more may be added
	events   int
	bytes    int
	messages int    // of the log behind the one that holds covered, at least
	covered  uint64 // newest seq in a segment
	segments int    // how many there are
}

// add notes what was stored. It says whether it has copied the events, whose memory is the
// caller's again then.
func (h *history) add(s stored) (copied bool) {
	last := len(h.records) - 1
	switch {
	case s.marks == nil || len(s.body) > smallRecord:
		s.batch = s.fitted()
		h.records = append(h.records, s)
		h.open = false
	case h.open && len(h.records[last].body)+1+len(s.body) <= cap(h.records[last].body):
		h.records[last].extend(s)
		h.bytes++ // the line break
		copied = true
	default:
		h.records = append(h.records, s.block(h.bytes))
		h.open, copied = true, true
	}
	h.events += s.n
	h.bytes += len(s.body)
	h.messages += s.messages
	return copied
}

// block makes a block that begins with s, of a size that goes with what is kept already.
func (s stored) block(kept int) stored {
	size := max(min(max(kept, smallestBlock), largestBlock), len(s.body))
	events := size/(len(s.body)/s.n+1) + 1
	s.body = append(make([]byte, 0, size), s.body...)
	s.marks = append(make([]agui.Mark, 0, max(events, s.n)), s.marks...)
	return s
}

// extend adds the events of the record behind s. What others hold of s stays as it is.
func (s *stored) extend(next stored) {
	s.body = append(append(s.body, '\n'), next.body...)
	s.marks = append(s.marks, next.marks...)
	s.n += next.n
	s.last, s.streamSeq = next.last, next.streamSeq
	s.messages += next.messages
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

// next gives the oldest records, as many as belong into one segment. Nothing is added to
// them any more.
func (h *history) next() []stored {
	h.open = false
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
		h.records, h.messages, h.open = nil, 0, false
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
