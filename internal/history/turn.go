package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/rejoin/rejoin/subjects"
)

// Turn is one saved turn. Its JSON is what clients see of it; the fields without one
// say where it belongs.
type Turn struct {
	Realm      subjects.Realm `json:"-"`
	ChatID     string         `json:"-"` // required
	Owner      string         `json:"-"` // "" for none
	TurnID     string         `json:"-"`
	Generation uint64         `json:"-"` // the run's place in the chat; 0 where unknown

	RunID     subjects.RunID  `json:"run_id"` // required
	Kind      string          `json:"kind"`
	Input     json.RawMessage `json:"input"`  // a JSON object, or nil
	Events    json.RawMessage `json:"events"` // a JSON array of events; nil means none
	StartedAt time.Time       `json:"started_at,omitzero"`
	EndedAt   time.Time       `json:"ended_at,omitzero"`
	Reason    subjects.Reason `json:"reason"`
}

// The stored form is a head as JSON on one line, then the input and the events as they
// are. So nothing of them is decoded or encoded again, whatever their size.
type head struct {
	Owner      string          `json:"owner,omitempty"`
	TurnID     string          `json:"turn_id,omitempty"`
	Generation uint64          `json:"generation,omitempty"`
	RunID      subjects.RunID  `json:"run_id"`
	Kind       string          `json:"kind,omitempty"`
	StartedAt  time.Time       `json:"started_at,omitzero"`
	EndedAt    time.Time       `json:"ended_at,omitzero"`
	Reason     subjects.Reason `json:"reason,omitempty"`
	InputBytes int             `json:"input_bytes"` // the rest is the events
}

// check says what is wrong with a turn; the error wraps ErrTurn or ErrTooLarge.
func (t *Turn) check() error {
	if _, err := subjects.ParseRunID(string(t.RunID)); err != nil {
		return fmt.Errorf("%w: run id %.60q: %w", ErrTurn, t.RunID, err)
	}
	if err := subjects.CheckChatID(t.ChatID); err != nil {
		return fmt.Errorf("%w: chat id: %w", ErrTurn, err)
	}
	if size := len(t.Input) + len(t.Events); size > MaxBytes {
		return fmt.Errorf("%w: %d bytes, at most %d are taken", ErrTooLarge, size, MaxBytes)
	}
	if len(t.Input) > 0 && !isJSON(t.Input, '{') {
		return fmt.Errorf("%w: its input is %.40q, want a JSON object", ErrTurn, t.Input)
	}
	if len(t.Events) > 0 && !isJSON(t.Events, '[') {
		return fmt.Errorf("%w: its events are %.40q, want a JSON array", ErrTurn, t.Events)
	}
	return nil
}

// isJSON says whether raw is JSON that begins with that bracket. What is not would break
// the answer of everybody who reads the chat.
func isJSON(raw []byte, bracket byte) bool {
	first := bytes.TrimLeft(raw, " \t\r\n")
	return len(first) > 0 && first[0] == bracket && json.Valid(raw)
}

func (t *Turn) encode() ([]byte, error) {
	line, err := json.Marshal(head{Owner: t.Owner, TurnID: t.TurnID, Generation: t.Generation, RunID: t.RunID, Kind: t.Kind,
		StartedAt: t.StartedAt, EndedAt: t.EndedAt, Reason: t.Reason, InputBytes: len(t.Input)})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTurn, err) // a year that JSON's times cannot have
	}
	out := make([]byte, 0, len(line)+1+len(t.Input)+len(t.Events))
	out = append(append(out, line...), '\n')
	return append(append(out, t.Input...), t.Events...), nil
}

// decode is the inverse of encode. Input and events are shared with stored.
func decode(stored []byte) (Turn, error) {
	line, rest, ok := bytes.Cut(stored, []byte{'\n'})
	var h head
	if err := json.Unmarshal(line, &h); err != nil || !ok || h.InputBytes < 0 || h.InputBytes > len(rest) {
		return Turn{}, fmt.Errorf("%w: head %.120q", errDamaged, line)
	}
	t := Turn{Owner: h.Owner, TurnID: h.TurnID, Generation: h.Generation, RunID: h.RunID, Kind: h.Kind,
		StartedAt: h.StartedAt, EndedAt: h.EndedAt, Reason: h.Reason, Events: json.RawMessage("[]")}
	if n := h.InputBytes; n > 0 {
		t.Input = rest[:n:n]
	}
	if events := rest[h.InputBytes:]; len(events) > 0 {
		t.Events = events
	}
	return t, nil
}
