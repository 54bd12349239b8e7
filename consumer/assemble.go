package consumer

import (
	"bytes"

	"github.com/rejoin/rejoin/subjects"
)

// block is a stretch of consecutive events: those of one record, or the one event that
// several records were the parts of, or what a tail has copied of more of them. What is in
// a block is never changed, so any number of readers share it; the newest of a tail may grow
// behind that.
type block struct {
	first, last uint64
	body        []byte // the events, one a line
	stream      uint64 // stream sequence of the record that completed it; 0 where it is not known
}

// maxParts is how many parts an event may have: all of them have to be in the log.
const maxParts = subjects.MaxRecordsPerRun

// assembler turns the records of one run, in order, into blocks. It puts together
// events that were stored in parts. The zero value is ready.
type assembler struct {
	writer string
	prev   uint64 // seq of the event before the open one
	parts  int    // of the open event
	next   int    // the part that must come next; 0 when no event is open
	body   []byte
}

// add takes the next record, of the given stream sequence. ok is false for a record that completes no event: a
// start, a takeover, the end, a part before the last. broken says that the record's
// events cannot be given out: a part came whose predecessors are missing, or there
// are not as many events as the record says.
func (a *assembler) add(r *subjects.Record, stream uint64) (b block, ok, broken bool) {
	switch r.Kind {
	case subjects.KindEvents:
		a.reset()
		ok = lines(r.Body) == r.Count
		return block{r.Prev() + 1, r.Last, r.Body, stream}, ok, !ok
	case subjects.KindPart:
		return a.part(r, stream)
	default:
		// A new writer begins the event anew that the former one left in parts.
		a.reset()
		return block{}, false, false
	}
}

func (a *assembler) part(r *subjects.Record, stream uint64) (b block, ok, broken bool) {
	if r.Part == 1 {
		*a = assembler{writer: r.Writer, prev: r.Prev(), parts: r.Parts, next: 1}
	}
	// Between two parts with the right numbers, those of another event may be missing.
	if r.Part != a.next || r.Writer != a.writer || r.Prev() != a.prev || r.Parts != a.parts || r.Parts > maxParts {
		a.reset()
		return block{}, false, true
	}
	a.body = append(a.body, r.Body...)
	a.next++
	if r.Part < r.Parts {
		return block{}, false, false
	}
	b = block{r.Last, r.Last, a.body, stream}
	ok = lines(b.body) == 1
	a.reset()
	return b, ok, !ok
}

func (a *assembler) reset() { *a = assembler{} }

// lines counts the lines of NDJSON, 0 for one that has an empty line.
func lines(ndjson []byte) int {
	n := bytes.Count(ndjson, []byte{'\n'}) + 1
	if len(ndjson) == 0 || n > 1 && (ndjson[0] == '\n' || ndjson[len(ndjson)-1] == '\n' || bytes.Contains(ndjson, []byte("\n\n"))) {
		return 0
	}
	return n
}

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
