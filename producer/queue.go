package producer

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/subjects"
)

// batch is consecutive events, one a line: what becomes one record.
type batch struct {
	body  []byte
	marks []agui.Mark // of each of them; nil where they were read back from the log
	n     int
	last  uint64 // seq of the newest of them
}

// foldInto adds the events to a fold, which they go on.
func (b batch) foldInto(f *agui.Fold) error {
	if b.marks != nil {
		f.AddMarked(b.body, b.marks)
		return nil
	}
	if _, err := f.AddLines(b.body); err != nil {
		return fmt.Errorf("folding: %w", err) // what was checked once does not change
	}
	return nil
}

// queue holds the events of one run that are numbered and not known to be stored,
// already laid out as the records they will become. It bounds itself by nothing;
// room tells the caller when to wait.
type queue struct {
	batches []batch
	events  int // with those in flight
	bytes   int
	size    int // of the batches taken lately: the next one will likely be as large
	count   int // of their events

	spare []batch // whose memory the next batches may use
}

// How much memory a run keeps for its next batches: one is on its way while another gathers.
// What is larger than maxSpare, in bytes, comes from a burst.
const (
	spares   = 2
	maxSpare = 8 << 10
)

// first is how large the next record is, 0 where there is none.
func (q *queue) first() int {
	if len(q.batches) == 0 {
		return 0
	}
	return len(q.batches[0].body)
}

// room says whether one more event of the given size may be added.
func (q *queue) room(size, maxEvents, maxBytes int) bool {
	return q.events == 0 || q.events < maxEvents && q.bytes+size <= maxBytes
}

// push adds one event, of which it makes a copy, unless it is larger than
// subjects.MaxRecordBytes: that one becomes the queue's.
func (q *queue) push(event []byte, mark agui.Mark, seq uint64) {
	q.events++
	q.bytes += len(event)
	if i := len(q.batches) - 1; i >= 0 {
		b := &q.batches[i]
		if b.n < subjects.MaxRecordEvents && len(b.body)+1+len(event) <= subjects.MaxRecordBytes {
			b.body = append(append(b.body, '\n'), event...)
			b.marks = append(b.marks, mark)
			b.n++
			b.last = seq
			return
		}
	}
	b := batch{n: 1, last: seq}
	switch i := len(q.spare) - 1; {
	case len(event) > subjects.MaxRecordBytes:
		b.body, b.marks = event, []agui.Mark{mark}
	case i >= 0 && cap(q.spare[i].body) >= len(event):
		b.body, b.marks = append(q.spare[i].body[:0], event...), append(q.spare[i].marks[:0], mark)
		q.spare = slices.Delete(q.spare, i, i+1)
	default:
		b.body = append(make([]byte, 0, max(len(event), q.size)), event...)
		b.marks = append(make([]agui.Mark, 0, max(1, q.count)), mark)
	}
	q.batches = append(q.batches, b)
}

// take removes what the next record is made of. It counts as pending until stored
// is called. limit is the size of a record in bytes; only a single event may be
// larger.
func (q *queue) take(limit int) batch {
	b := q.batches[0]
	if len(b.body) > limit && b.n > 1 {
		// The broker allows less than when the events were gathered.
		b = q.split(limit)
	} else {
		q.batches = slices.Delete(q.batches, 0, 1)
	}
	// A burst among single events is soon forgotten, a steady stream soon learnt.
	q.size, q.count = (q.size+min(len(b.body), subjects.MaxRecordBytes)+1)/2, (q.count+b.n+1)/2
	return b
}

// split cuts from the first batch as many events as fit, and at least one.
func (q *queue) split(limit int) batch {
	first := &q.batches[0]
	cut := bytes.LastIndexByte(first.body[:limit+1], '\n')
	if cut < 0 {
		cut = bytes.IndexByte(first.body, '\n')
	}
	n := 1 + bytes.Count(first.body[:cut], []byte{'\n'})
	b := batch{body: first.body[:cut:cut], marks: first.marks[:n:n], n: n, last: first.last - uint64(first.n-n)}
	first.body, first.marks, first.n = first.body[cut+1:], first.marks[n:], first.n-n
	return b
}

// fitted is the batch without room that it does not need: it is kept until a segment has
// its events.
func (b batch) fitted() batch {
	if cap(b.body) > 2*len(b.body) {
		b.body = bytes.Clone(b.body)
	}
	if cap(b.marks) > 2*len(b.marks) {
		b.marks = slices.Clone(b.marks)
	}
	return b
}

// stored gives the room of a taken batch back, and, where it was copied, its memory.
func (q *queue) stored(b batch, copied bool) {
	q.events -= b.n
	q.bytes -= len(b.body) - (b.n - 1)
	if !copied || cap(b.body) > maxSpare {
		return
	}
	if len(q.spare) < spares {
		q.spare = append(q.spare, b)
	} else if i := len(q.spare) - 1; cap(b.body) > cap(q.spare[i].body) {
		q.spare[i] = b
	}
}

// drop forgets everything.
func (q *queue) drop() { *q = queue{} }
