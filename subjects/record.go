package subjects

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
)

// RecordHeader is the one header a record carries of ours:
//
//	<kind> <last> <count> <writer> [<part>/<parts>]
//
// One header and not five, because every reader parses it for every record.
const RecordHeader = "Rejoin-Record"

// ErrRecord is returned by ParseRecord for a message that is no record.
var ErrRecord = errors.New("not a record of a run")

// Kind says what a record holds.
type Kind string

// The kinds of record.
const (
	KindStart    Kind = "start"    // the first record: no events, it claims the subject
	KindEvents   Kind = "events"   // one or more whole events, one a line
	KindPart     Kind = "part"     // a piece of one event larger than a broker message
	KindTakeover Kind = "takeover" // a new writer owns the run from here on; no events
	KindEnd      Kind = "end"      // the last record: its body is an End
)

// Record is one JetStream message of a run. Last and Count make a log check
// itself: a reader that has every event up to Prev may apply the record, and
// any other value tells it that it is early or late.
type Record struct {
	Kind   Kind
	Last   uint64 // seq of the newest event once this record is applied; 0 before the first
	Count  int    // events that this record completes
	Writer string // who wrote it: a token, unique to one writer of one run
	Part   int    // KindPart: which piece this is, from 1
	Parts  int    // KindPart: how many pieces the event has
	Trace  Trace  // KindStart: where it was asked for; written and not read back
	Body   []byte // KindEvents: events, one a line; KindPart: raw bytes; KindEnd: JSON
}

// Prev is the seq that a reader must have reached for the record to follow.
func (r *Record) Prev() uint64 { return r.Last - uint64(r.Count) }

// Header is the value of RecordHeader for the record.
func (r *Record) Header() string {
	var room [80]byte
	h := append(room[:0], r.Kind...)
	h = append(h, ' ')
	h = strconv.AppendUint(h, r.Last, 10)
	h = append(h, ' ')
	h = strconv.AppendInt(h, int64(r.Count), 10)
	h = append(h, ' ')
	h = append(h, r.Writer...)
	if r.Kind == KindPart {
		h = append(h, ' ')
		h = strconv.AppendInt(h, int64(r.Part), 10)
		h = append(h, '/')
		h = strconv.AppendInt(h, int64(r.Parts), 10)
	}
	return string(h)
}

// Msg makes the message to publish on the run's subject. Body is shared, not copied.
func (r *Record) Msg(subject string) *nats.Msg {
	m := &nats.Msg{Subject: subject, Header: nats.Header{RecordHeader: {r.Header()}}, Data: r.Body}
	r.Trace.Set(m.Header)
	return m
}

// ParseRecord reads a message back. Body is shared with data. The error wraps ErrRecord.
func ParseRecord(header nats.Header, data []byte) (Record, error) {
	r := Record{Body: data}
	v := header[RecordHeader]
	if len(v) != 1 {
		return r, fmt.Errorf("%w: no %s header", ErrRecord, RecordHeader)
	}
	kind, rest, _ := strings.Cut(v[0], " ")
	last, rest, _ := strings.Cut(rest, " ")
	count, rest, _ := strings.Cut(rest, " ")
	writer, part, _ := strings.Cut(rest, " ")
	r.Kind, r.Writer = Kind(kind), writer
	var errs [2]error
	r.Last, errs[0] = strconv.ParseUint(last, 10, 64)
	r.Count, errs[1] = strconv.Atoi(count)
	if errs[0] != nil || errs[1] != nil || r.Count < 0 || uint64(r.Count) > r.Last || r.Last > MaxSeq {
		return r, fmt.Errorf("%w: bad numbers in %.80q", ErrRecord, v[0])
	}
	return r, r.check(part, v[0])
}

// check enforces what each kind may carry.
func (r *Record) check(part, header string) error {
	ok := false
	switch r.Kind {
	case KindStart:
		ok = r.Last == 0
	case KindTakeover, KindEnd:
		ok = r.Count == 0
	case KindEvents:
		ok = r.Count > 0
	case KindPart:
		i, n, _ := strings.Cut(part, "/")
		r.Part, _ = strconv.Atoi(i)
		r.Parts, _ = strconv.Atoi(n)
		last := r.Part == r.Parts
		ok = r.Part >= 1 && r.Parts >= r.Part && (r.Count == 1) == last && r.Count <= 1
	}
	if !ok {
		return fmt.Errorf("%w: bad header %.80q", ErrRecord, header)
	}
	return nil
}
