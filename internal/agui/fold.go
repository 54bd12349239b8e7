package agui

import (
	"bytes"
	"slices"
)

// Fold turns a sequence of events into the shortest one that reduces to the
// same state, as lines of NDJSON. B is merged into A when all of this holds:
//
//   - they are directly adjacent and of the same type, one of
//     TEXT_MESSAGE_CONTENT, REASONING_MESSAGE_CONTENT,
//     THINKING_TEXT_MESSAGE_CONTENT and TOOL_CALL_ARGS;
//   - every field but delta and timestamp is byte-equal, so that a field nobody
//     here knows either matches or keeps them apart; either may lack the
//     timestamp;
//   - the delta is a string in both, no key occurs twice or is escaped, and
//     there are at most 32 fields;
//   - the merged delta is no longer than [MaxDelta].
//
// The merged event is A with the deltas joined as written: a character may be
// split between two deltas, as two halves of a surrogate pair, and would not
// survive being decoded. Empty deltas merge too. Everything else is kept in its
// place, byte for byte.
//
// The zero Fold is empty and ready. What it costs is linear in the bytes added,
// and it holds no more than the folded bytes and one event's fields. It is not
// safe for concurrent use.
type Fold struct {
	done   arena // all that is settled; see close for the last event
	count  int
	marker Marker // for the events that come without a mark

	// While open, the last event may still grow. done ends within its delta, and end is what
	// follows that.
	open  bool
	end   []byte
	delta int // bytes of delta so far
}

// Add appends an event that Scan has made. It copies what it needs, so that the
// event and its bytes may be used again at once. It panics on the zero Event.
func (f *Fold) Add(e *Event) {
	if len(e.Raw) == 0 {
		panic("agui: Add of an event that was not scanned")
	}
	f.add(e.Raw, f.marker.Mark(e))
}

// AddMarked adds the lines of NDJSON whose marks one Marker has made, in this order and
// after those of the events that were added before.
func (f *Fold) AddMarked(ndjson []byte, marks []Mark) {
	f.marker.last.clear() // what is compared next was not seen here
	for _, m := range marks {
		f.add(ndjson[:m.Size()], m)
		ndjson = ndjson[min(m.Size()+1, len(ndjson)):]
	}
}

func (f *Fold) add(raw []byte, m Mark) {
	if f.open && m.size&joinsBefore != 0 {
		if body := raw[m.from:m.to]; f.delta+len(body) <= MaxDelta {
			f.done.write(body)
			f.delta += len(body)
			return
		}
	}
	f.close()
	if f.count > 0 {
		f.done.write(newline)
	}
	f.count++
	if m.to == 0 {
		f.done.write(raw)
		return
	}
	f.done.write(raw[:m.to])
	f.open, f.end, f.delta = true, append(f.end[:0], raw[m.to:]...), int(m.to-m.from)
}

// AddLines scans and adds each line of NDJSON. On an error it has added the n
// events before the offending line.
func (f *Fold) AddLines(ndjson []byte) (n int, err error) {
	var e Event
	for line := range Lines(ndjson) {
		if err := Scan(line, &e); err != nil {
			return n, err
		}
		f.Add(&e)
		n++
	}
	return n, nil
}

// Count is the number of events so far, merged ones counted once.
func (f *Fold) Count() int { return f.count }

// Len is the size of the NDJSON in bytes, as AppendTo would append it.
func (f *Fold) Len() int { return f.done.size + len(f.tail()) }

// AppendTo appends the events to dst, joined by line breaks, with none at the
// end. The fold goes on as if nothing had been read.
func (f *Fold) AppendTo(dst []byte) []byte {
	pieces := f.done.pieces(f.tail())
	if dst == nil {
		return bytes.Join(pieces, nil) // unlike slices.Grow it does not clear first what it writes next
	}
	dst = slices.Grow(dst, f.Len())
	for _, p := range pieces {
		dst = append(dst, p...)
	}
	return dst
}

// Cut returns what AppendTo would and empties the fold. Nothing is merged
// across a cut. It returns nil when there is nothing.
func (f *Fold) Cut() []byte {
	if f.count == 0 {
		return nil
	}
	out := f.AppendTo(nil)
	f.Reset()
	return out
}

// Reset empties the fold and lets go of its memory.
func (f *Fold) Reset() {
	f.done, f.count, f.open = arena{}, 0, false
	f.marker.last.clear()
}

var newline = []byte{'\n'}

// tail is what the last event still lacks in done.
func (f *Fold) tail() []byte {
	if !f.open {
		return nil
	}
	return f.end
}

func (f *Fold) close() {
	f.done.write(f.tail())
	f.open = false
}
