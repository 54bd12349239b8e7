package subjects

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Reason says why a run ended.
type Reason string

// The reasons of protocol 1; no others exist.
const (
	ReasonDone       Reason = "done"
	ReasonError      Reason = "error"
	ReasonStopped    Reason = "stopped"
	ReasonSuperseded Reason = "superseded"
	ReasonAbandoned  Reason = "abandoned"   // the producer died
	ReasonSaveFailed Reason = "save_failed" // the application's save failed, hung or was cancelled
	ReasonSkipped    Reason = "skipped"     // a stale revision was not written
)

// producerReasons are those that a producer may give; the fabric finds the others out.
var producerReasons = []Reason{ReasonDone, ReasonError, ReasonStopped, ReasonSkipped, ReasonSaveFailed}

// ParseReason reads the reason that a producer gives for its end; "" means done.
// The error names what is allowed.
func ParseReason(s string) (Reason, error) {
	if s == "" {
		return ReasonDone, nil
	}
	if r := Reason(s); slices.Contains(producerReasons, r) {
		return r, nil
	}
	return "", fmt.Errorf("reason %.40q is none of done, error, stopped, skipped, save_failed", s)
}

// End is the end of a run: the body of its last record, and a part of its entry.
type End struct {
	Persisted  bool   `json:"persisted"`  // the application's save succeeded
	Superseded bool   `json:"superseded"` // a newer run took the chat
	Reason     Reason `json:"reason"`
	NextRunID  RunID  `json:"next_run_id,omitempty"` // the newer run, where known
}

// EndRecord makes the last record of a run whose newest event is last.
func EndRecord(end End, last uint64, writer string) Record {
	body, err := json.Marshal(end)
	if err != nil {
		panic(err) // a struct of strings and booleans always marshals
	}
	return Record{Kind: KindEnd, Last: last, Writer: writer, Body: body}
}
