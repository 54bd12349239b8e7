package save

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/subjects"
)

// body is what is posted but for input and events, which follow as they are.
type body struct {
	Tenant     string          `json:"tenant"`
	ChatID     string          `json:"chat_id"`
	Owner      string          `json:"owner"`
	TurnID     string          `json:"turn_id"`
	RunID      subjects.RunID  `json:"run_id"`
	Kind       string          `json:"kind"`
	Generation uint64          `json:"generation"`
	Reason     subjects.Reason `json:"reason"`
	StartedAt  time.Time       `json:"started_at,omitzero"`
	EndedAt    time.Time       `json:"ended_at,omitzero"`
}

// encode makes the request's body. Input and events are put in without being decoded:
// numbers, escapes and unknown fields arrive as they were published.
func encode(t *Turn) ([]byte, error) {
	input := t.Input
	switch {
	case len(input) == 0:
		input = json.RawMessage("null")
	case !json.Valid(input):
		return nil, fmt.Errorf("the turn's input is no JSON: %.40q", input)
	}
	head, err := json.Marshal(body{Tenant: t.Realm.Tenant(), ChatID: t.ChatID, Owner: t.Owner, TurnID: t.TurnID, RunID: t.RunID,
		Kind: t.Kind, Generation: t.Generation, Reason: t.Reason, StartedAt: t.StartedAt, EndedAt: t.EndedAt})
	if err != nil {
		return nil, err
	}
	out := append(bytes.TrimSuffix(head, []byte{'}'}), `,"input":`...)
	out = append(out, input...)
	out = append(out, `,"events":`...)
	out = agui.AppendArray(out, t.Events)
	return append(out, '}'), nil
}
