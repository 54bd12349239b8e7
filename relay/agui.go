package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/rejoin/rejoin/internal/problem"
	"github.com/rejoin/rejoin/internal/turns"
)

// runAgentInput is what a stock AG-UI client posts, as far as it is looked at: the whole of it
// is the turn's input, byte for byte.
type runAgentInput struct {
	Messages       []json.RawMessage `json:"messages"`
	Resume         any               `json:"resume"`
	ForwardedProps json.RawMessage   `json:"forwardedProps"`
}

// agui serves POST /agui/{chat_id}: a message, and its run's stream in plain AG-UI.
func (s *Server) agui(w http.ResponseWriter, r *http.Request) error {
	if !canFlush(w) {
		return errNoFlush
	}
	chat, err := pathChat(r)
	if err != nil {
		return err
	}
	m, leave, err := s.readMessageAs(w, r, func(body []byte) (*message, error) { return s.parseRunInput(chat, body) })
	if err != nil {
		return err
	}
	defer leave()
	bring := func(ctx context.Context) (turns.Sent, error) { return s.bringOnce(ctx, m) }
	return s.answered(w, r, m, leave, bring, watch{legacy: true})
}

func (s *Server) parseRunInput(chat string, body []byte) (*message, error) {
	var in runAgentInput
	if err := problem.Decode(body, &in); err != nil {
		return nil, err
	}
	if in.Messages == nil {
		return nil, problem.New(problem.BadRequest, "messages is missing; allowed is a RunAgentInput, which has a list of them")
	}
	if err := s.checkInput(body); err != nil {
		return nil, err
	}
	m := &message{legacy: true}
	m.ChatID, m.Input = chat, body
	var props struct {
		Rejoin manners `json:"rejoin"`
	}
	if p := bytes.TrimSpace(in.ForwardedProps); len(p) > 0 && p[0] == '{' {
		if err := problem.Decode(p, &props); err != nil {
			return nil, err
		}
	}
	return m, props.Rejoin.on(m, in.asked())
}

// asked is the last message that the agent did not write itself, and the answers to what it
// has asked; nil where there is neither. What follows the message is what is there of its
// answer: a client that was cut off sends it along.
func (in *runAgentInput) asked() any {
	last := lastOf(in.Messages, func(role string) bool { return role != "assistant" && role != "reasoning" && role != "activity" })
	if last == nil && in.Resume == nil {
		return nil
	}
	return []any{last, in.Resume}
}

// lastOf is what identifies the last message whose role is one of those wanted: its place among
// them where it has no id, its id and what it says. nil for none.
func lastOf(messages []json.RawMessage, wanted func(role string) bool) any {
	var last map[string]any
	n := 0
	for _, raw := range messages {
		var m map[string]any
		if json.Unmarshal(raw, &m) != nil {
			continue // it is for the agent to say what it cannot take
		}
		if role, _ := m["role"].(string); wanted(role) {
			last = m
			n++
		}
	}
	if last == nil {
		return nil
	}
	key := []any{last["role"], last["id"], last["toolCallId"], last["content"], last["parts"]}
	if id, _ := last["id"].(string); id == "" {
		key[1] = n
	}
	return key
}
