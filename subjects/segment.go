package subjects

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrSegment is returned by ParseSegment for a value that is no segment.
var ErrSegment = errors.New("not a segment")

// Segment is the head of a stored segment: the range it covers and where the log
// goes on. A value is this head as JSON on one line, then the compacted events,
// one a line. Segments of a run tile its seqs from 1 on without gap or overlap.
type Segment struct {
	From      uint64 `json:"from"`       // first seq it covers
	To        uint64 `json:"to"`         // last seq it covers
	StreamSeq uint64 `json:"stream_seq"` // JetStream sequence of the record that holds To
	Writer    string `json:"writer"`     // who stored it; names the further parts
	Parts     int    `json:"parts"`      // 1, or how many values its events are spread over
}

// AppendSegment appends the stored form of the head's own value to dst; body is
// the compacted events, or the first part of them.
func AppendSegment(dst []byte, s Segment, body []byte) []byte {
	head, err := json.Marshal(s)
	if err != nil {
		panic(err) // a struct of numbers and a string always marshals
	}
	dst = append(dst, head...)
	dst = append(dst, '\n')
	return append(dst, body...)
}

// ParseSegment splits a stored value into head and body. Body is shared with
// value. The error wraps ErrSegment.
func ParseSegment(value []byte) (Segment, []byte, error) {
	var s Segment
	head, body, ok := bytes.Cut(value, []byte{'\n'})
	if !ok {
		return s, nil, fmt.Errorf("%w: no head line", ErrSegment)
	}
	if err := json.Unmarshal(head, &s); err != nil {
		return s, nil, fmt.Errorf("%w: %w", ErrSegment, err)
	}
	if s.From < 1 || s.To < s.From || s.Parts < 1 || s.StreamSeq < 1 {
		return s, nil, fmt.Errorf("%w: head %.120q", ErrSegment, head)
	}
	return s, body, nil
}
