package consumer

import (
	"encoding/json"
	"strconv"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/subjects"
)

// FrameType says what a frame carries.
type FrameType uint8

// The frame types of protocol 1. The zero FrameType is none of them.
const (
	Snapshot FrameType = iota + 1 // replaces whatever the observer holds of the run
	Event                         // exactly one event
	Synced                        // replay has caught up with live
	End                           // the last frame of a run
)

var frameNames = [...]string{Snapshot: "STREAM_SNAPSHOT", Event: "STREAM_EVENT", Synced: "STREAM_SYNCED", End: "STREAM_END"}

// String returns the type as it stands on the wire, STREAM_UNKNOWN for none of the four.
func (t FrameType) String() string {
	if t < Snapshot || t > End {
		return "STREAM_UNKNOWN"
	}
	return frameNames[t]
}

// Frame is one message to an observer. Which fields count depends on Type; the
// others are zero. A frame is plain data: copying one shares its byte slices,
// which nobody changes afterwards.
type Frame struct {
	Type  FrameType
	RunID subjects.RunID
	Seq   uint64 // of the event; of the last event folded into a snapshot; else of the last event before the frame

	Event  []byte       // Event: the raw JSON of one event, byte for byte as published
	Events []byte       // Snapshot: NDJSON, raw events joined by '\n'; empty where there are none
	Parts  NDJSON       // Snapshot: instead of Events, from a Reader
	End    subjects.End // End
}

// Folded is the events of a snapshot, wherever it came from.
func (f *Frame) Folded() NDJSON {
	if f.Parts == nil && len(f.Events) > 0 {
		return NDJSON{f.Events}
	}
	return f.Parts
}

// AppendJSON appends the frame as one JSON object on one line, fields in the
// order of the protocol. It allocates nothing but what dst has to grow.
//
// Events go through untouched but for line breaks, which become spaces: they can
// only stand between JSON tokens, and one left in would end the SSE line.
func (f *Frame) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"type":"`...)
	dst = append(dst, f.Type.String()...)
	dst = append(dst, `","run_id":`...)
	dst = appendString(dst, string(f.RunID))
	dst = append(dst, `,"seq":`...)
	dst = strconv.AppendUint(dst, f.Seq, 10)
	switch f.Type {
	case Snapshot:
		dst = append(dst, `,"events":`...)
		start := len(dst)
		dst = agui.AppendArray(dst, f.Folded()...)
		agui.Flatten(dst[start:])
	case Event:
		dst = append(dst, `,"event":`...)
		if len(f.Event) == 0 {
			dst = append(dst, "null"...)
		}
		dst = appendOneLine(dst, f.Event)
	case End:
		dst = appendEnd(dst, f.End)
	}
	return append(dst, '}')
}

func appendEnd(dst []byte, e subjects.End) []byte {
	dst = append(dst, `,"persisted":`...)
	dst = strconv.AppendBool(dst, e.Persisted)
	dst = append(dst, `,"superseded":`...)
	dst = strconv.AppendBool(dst, e.Superseded)
	dst = append(dst, `,"reason":`...)
	dst = appendString(dst, string(e.Reason))
	if e.NextRunID != "" {
		dst = append(dst, `,"next_run_id":`...)
		dst = appendString(dst, string(e.NextRunID))
	}
	return dst
}

// appendOneLine appends b with every CR and LF turned into a space.
func appendOneLine(dst, b []byte) []byte {
	start := len(dst)
	dst = append(dst, b...)
	agui.Flatten(dst[start:])
	return dst
}

// appendString appends s as a JSON string. Ids and reasons need no escape, so
// the encoder that allocates is only for what should not be there.
func appendString(dst []byte, s string) []byte {
	if plain(s) {
		dst = append(dst, '"')
		dst = append(dst, s...)
		return append(dst, '"')
	}
	quoted, _ := json.Marshal(s) // cannot fail for a string
	return append(dst, quoted...)
}

// plain reports whether s is printable ASCII that needs no escape in a JSON string.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
