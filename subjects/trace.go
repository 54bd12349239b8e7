package subjects

import (
	"strings"

	"github.com/nats-io/nats.go"
)

// Headers of a trace context, as the W3C names them: on the message of a turn in the work
// queue, and on a run's start record. NATS tells upper case from lower.
const (
	TraceParentHeader = "traceparent"
	TraceStateHeader  = "tracestate"
)

// MaxTraceState is how long a trace's state may be in bytes: what everybody has to carry
// on, and no more, since it is stored with every turn. A longer one is left out.
const MaxTraceState = 512

// traceParent is the length of a parent of version 00.
const traceParent = len("00-0123456789abcdef0123456789abcdef-0123456789abcdef-00")

// Trace is where in a trace something was asked: the values of the W3C's two headers,
// checked already. The zero value is in no trace.
type Trace struct {
	Parent string `json:"parent,omitempty"` // of version 00
	State  string `json:"state,omitempty"`
}

// IsZero says that there is no trace.
func (t Trace) IsZero() bool { return t.Parent == "" }

// TraceID is the trace's id, 32 digits in lower case; "" where there is no trace.
func (t Trace) TraceID() string {
	if len(t.Parent) != traceParent {
		return ""
	}
	return t.Parent[3:35]
}

// Set writes the headers of a message, which must have a header. Without a trace it does
// nothing.
func (t Trace) Set(h nats.Header) {
	if t.IsZero() {
		return
	}
	h[TraceParentHeader] = []string{t.Parent}
	if t.State != "" {
		h[TraceStateHeader] = []string{t.State}
	}
}

// ParseTrace checks the values of the two headers. A malformed parent is no trace at all; a
// state that is too long, or cannot stand in a header, is left out.
func ParseTrace(parent, state string) Trace {
	if !validParent(parent) {
		return Trace{}
	}
	// Of a later version only what this one knows goes on, as this one.
	t := Trace{Parent: "00" + parent[2:traceParent]}
	if state = strings.Trim(state, " \t"); len(state) <= MaxTraceState && printableASCII(state) {
		t.State = state
	}
	return t
}

// validParent checks version, ids and flags as the W3C's text has it.
func validParent(s string) bool {
	if len(s) < traceParent || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return false
	}
	version, trace, parent, flags := s[:2], s[3:35], s[36:52], s[53:55]
	for _, part := range []string{version, trace, parent, flags} {
		if strings.Trim(part, "0123456789abcdef") != "" {
			return false
		}
	}
	switch {
	case version == "ff", strings.Trim(trace, "0") == "", strings.Trim(parent, "0") == "":
		return false
	case len(s) == traceParent:
		return true
	}
	return version != "00" && s[traceParent] == '-'
}

func printableASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
