package agui

// Mark is what folding has to know of an event beside its bytes, so that an event that was
// scanned and compared once need not be looked at again.
type Mark struct {
	size     uint32 // of Raw, and joins in the highest bit
	from, to uint32 // the body of the delta within Raw; to is 0 where it is not mergeable
}

// joins, in a mark's size, says that the event differs from the one before only as merging
// allows. MaxSize leaves the bit free.
const joinsBefore = 1 << 31

// Size is the length of the event in bytes.
func (m Mark) Size() int { return int(m.size &^ joinsBefore) }

// Marker makes the marks of a sequence of events. The zero value is ready. It is not safe for
// concurrent use.
type Marker struct {
	last Event // the event before, its delta left out, if it is mergeable; otherwise none
}

// Mark makes the mark of the sequence's next event, which Scan has made. It copies what it
// keeps, and that only where the event may not be merged with the one before.
func (m *Marker) Mark(e *Event) Mark {
	mark := Mark{size: uint32(len(e.Raw))}
	if !e.mergeable {
		m.last.clear()
		return mark
	}
	body := e.deltaBody()
	mark.from, mark.to = body.from, body.to
	if m.last.mergeable && differsOnly(&m.last, e) {
		mark.size |= joinsBefore
	} else {
		m.keep(e, body)
	}
	return mark
}

// keep makes of e what later events are compared with: all but its delta.
func (m *Marker) keep(e *Event, body span) {
	cut := body.to - body.from
	a := &m.last
	a.Raw = append(append(a.Raw[:0], e.Raw[:body.from]...), e.Raw[body.to:]...)
	a.Type, a.mergeable = e.Type, true
	a.delta, a.timestamp, a.n = e.delta, e.timestamp, e.n
	for i, f := range e.fields[:e.n] {
		if f.key.from > body.from {
			f.key.from -= cut
			f.key.to -= cut
		}
		if f.value.from >= body.from {
			f.value.from -= cut
		}
		if f.value.to > body.from {
			f.value.to -= cut
		}
		a.fields[i] = f
	}
}
