package consumer

import (
	"bytes"

	"github.com/rejoin/rejoin/subjects"
)

// block is a stretch of consecutive events that became readable together: those of
// one record, or the one event that several records were the parts of. A block is
// never changed, so any number of readers share it.
type block struct {
	first, last uint64
	body        []byte // the events, one a line
}

// assembler turns the records of one run, in order, into blocks. It puts together
// events that were stored in parts. The zero value is ready.
type assembler struct {
	writer string
	next   int // the part that must come next; 0 when no event is open
	body   []byte
}

// add takes the next record. ok is false for a record that completes no event: a
// start, a takeover, the end, a part before the last. broken says that a part came
// whose predecessors are missing: the event it completes cannot be given out.
func (a *assembler) add(r *subjects.Record) (b block, ok, broken bool) {
	switch r.Kind {
	case subjects.KindEvents:
		a.reset()
		return block{r.Prev() + 1, r.Last, r.Body}, true, false
	case subjects.KindPart:
		return a.part(r)
	default:
		// A new writer begins the event anew that the former one left in parts.
		a.reset()
		return block{}, false, false
	}
}

func (a *assembler) part(r *subjects.Record) (b block, ok, broken bool) {
	switch {
	case r.Part == 1:
		a.writer, a.next, a.body = r.Writer, 1, nil
	case r.Part != a.next || r.Writer != a.writer:
		a.reset()
		return block{}, false, true
	}
	a.body = append(a.body, r.Body...)
	a.next++
	if r.Part < r.Parts {
		return block{}, false, false
	}
	b = block{r.Last, r.Last, a.body}
	a.reset()
	return b, true, false
}

func (a *assembler) reset() { *a = assembler{} }

// after is the block's events that come after seq, one a line.
func (b *block) after(seq uint64) []byte {
	body := b.body
	for skip := int(seq) - int(b.first) + 1; skip > 0; skip-- {
		i := bytes.IndexByte(body, '\n')
		if i < 0 {
			return nil
		}
		body = body[i+1:]
	}
	return body
}
