package agui

import "math"

// MaxSize is the largest event in bytes that can be scanned. It is a limit of
// the representation only; what a producer may send is limited elsewhere.
const MaxSize = math.MaxInt32

// maxFields is how many top-level fields of an event are kept for comparing.
// AG-UI's mergeable events have seven at most; one with more than this is
// passed on like any other and never merged.
const maxFields = 32

// Event is what there is to know of an event without decoding it. The zero
// value is no event; Scan makes one. It refers to the bytes it was made from
// and is valid as long as they are left alone. It may be copied, and used again
// for the next Scan, which is how to read a stream without allocating.
type Event struct {
	// Raw is the event itself, on one line: what is to be stored and sent.
	Raw []byte
	// Type is the event's type if it is one of the constants, otherwise "".
	Type Type

	kind      span // the type as written, without its quotes
	delta     int  // index into fields, -1 if there is none
	timestamp int  // index into fields, -1 if there is none
	mergeable bool
	n         int // fields in use
	fields    [maxFields]field
}

// span is a range of bytes in Raw, its end exclusive.
type span struct{ from, to uint32 }

func (s span) of(b []byte) []byte { return b[s.from:s.to:s.to] }

// field is a top-level member: its key without quotes and its value, both as
// written.
type field struct{ key, value span }

// TypeName returns the event's type as written: the inside of its JSON string.
func (e *Event) TypeName() []byte { return e.kind.of(e.Raw) }

// Mergeable reports whether the event's type, fields and form let it be merged
// with a neighbour at all. Delta then gives what would be joined.
func (e *Event) Mergeable() bool { return e.mergeable }

// Delta returns the body of a mergeable event's delta: the inside of its JSON
// string as written, escapes and all. It is nil for any other event.
func (e *Event) Delta() []byte {
	if !e.mergeable {
		return nil
	}
	return e.deltaBody().of(e.Raw)
}

func (e *Event) deltaBody() span {
	v := e.fields[e.delta].value
	return span{v.from + 1, v.to - 1}
}

// Scan checks that raw is an event and describes it in e. An event is exactly
// one JSON object (RFC 8259, strictly; white space around it is allowed), all
// of it valid UTF-8, nested no deeper than [MaxDepth], with one top-level
// "type" that is a non-empty string. Everything else about it is its producer's
// affair and passes through untouched: unknown types and fields, duplicates of
// other keys, numbers no machine can hold, halves of surrogate pairs as escapes.
//
// Scan keeps raw, in e, and does not write to it. It allocates nothing, except
// where raw has line breaks between its tokens: Raw is then a copy without them.
//
// The error is a [*SyntaxError]; e is then the zero Event. Scan may be called
// concurrently with different e.
func Scan(raw []byte, e *Event) error {
	if err := e.scan(raw); err != nil {
		e.clear()
		return err
	}
	if line := OneLine(raw); len(line) != len(raw) {
		// Rare and off the path of streaming: somebody sends indented JSON.
		if err := e.scan(line); err != nil {
			e.clear()
			return err
		}
	}
	return nil
}

// clear makes e no event. It leaves the fields, as n says that none is in use.
func (e *Event) clear() {
	e.Raw, e.Type, e.kind = nil, "", span{}
	e.delta, e.timestamp, e.mergeable, e.n = -1, -1, false, 0
}

func (e *Event) scan(b []byte) *SyntaxError {
	e.clear()
	if len(b) > MaxSize {
		return fail(0, ErrSize, "the event is larger than 2147483647 bytes")
	}
	i := space(b, 0)
	if i >= len(b) || b[i] != '{' {
		return fail(i, ErrNotObject, "expected one JSON object, found "+found(b, i))
	}
	open := i
	plainKeys := true // none is escaped, and there is room for all
	want := "a key or '}'"
	i = space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return noType(open)
	}
	for {
		end, next, escaped, err := name(b, i, want)
		if err != nil {
			return err
		}
		f := field{key: span{uint32(i + 1), uint32(end)}}
		if i, err = value(b, next); err != nil {
			return err
		}
		f.value = span{uint32(next), uint32(i)}
		if isType(f.key.of(b), escaped) {
			if err := e.setType(b, f); err != nil {
				return err
			}
		}
		plainKeys = plainKeys && !escaped && e.n < maxFields
		if e.n < maxFields {
			e.fields[e.n] = f
			e.n++
		}
		i = space(b, i)
		if i < len(b) && b[i] == '}' {
			break
		}
		if i >= len(b) || b[i] != ',' {
			return unexpected(b, i, separator(true))
		}
		i = space(b, i+1)
		want = "a key"
	}
	if i = space(b, i+1); i < len(b) {
		return fail(i, ErrTrailing, "after the JSON object stands "+found(b, i)+"; allowed is one object and white space")
	}
	if e.kind.to == 0 {
		return noType(open)
	}
	e.Raw = b
	e.mergeable = plainKeys && joins(e.Type) && e.index()
	return nil
}

func noType(at int) *SyntaxError {
	return fail(at, ErrNoType, `the event has no "type"; it needs a top-level "type" that is a non-empty string`)
}

// isType reports whether a key as written is "type", however it is escaped.
func isType(key []byte, escaped bool) bool {
	if !escaped {
		return string(key) == "type"
	}
	var buf [len("type")]byte
	p, ok := plain(buf[:0], key)
	return ok && string(p) == "type"
}

func (e *Event) setType(b []byte, f field) *SyntaxError {
	at := int(f.key.from) - 1
	if e.kind.to != 0 {
		return fail(at, ErrDuplicateType, `a second top-level "type"; allowed is one`)
	}
	v := f.value.of(b)
	if v[0] != '"' || len(v) == 2 {
		return fail(int(f.value.from), ErrNoType, `the "type" is not a non-empty string, which it must be`)
	}
	e.kind = span{f.value.from + 1, f.value.to - 1}
	body := e.kind.of(b)
	if e.Type = known(body); e.Type == "" {
		var buf [64]byte // longer than any known type
		if p, ok := plain(buf[:0], body); ok {
			e.Type = known(p)
		}
	}
	return nil
}
