package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/internal/problem"
	"github.com/rejoin/rejoin/internal/runs"
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
	m, leave, err := s.readMessageAs(w, r, func(body []byte) (*message, error) { return s.parseRunInput(r.Context(), chat, body) })
	if err != nil {
		return err
	}
	defer leave()
	q := &watch{legacy: true}
	bring := func(ctx context.Context) (turns.Sent, error) {
		sent, err := s.bringOnce(ctx, m)
		if sent.Repeated {
			q.reset = m.reset
		}
		m.reset = nil
		return sent, err
	}
	return s.answered(w, r, m, leave, bring, q)
}

func (s *Server) parseRunInput(ctx context.Context, chat string, body []byte) (*message, error) {
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
	asked, n := in.asked(nil)
	if n > 0 && roleOf(in.Messages[n-1]) == "tool" {
		given, err := s.resultsOf(ctx, chat)
		if err != nil {
			return nil, err
		}
		asked, n = in.asked(given)
	}
	err := props.Rejoin.on(m, asked)
	if err != nil {
		return nil, err
	}
	m.reset, err = in.reset(n)
	return m, err
}

// reset is the event that takes back what the client has of the answer, which is all after
// its first n messages; nil where it has nothing. A stock client keeps reasoning that a
// snapshot does not name, and adds to what it has of it, so that it is named and emptied.
func (in *runAgentInput) reset(n int) ([]byte, error) {
	if n == 0 || n == len(in.Messages) {
		return nil, nil
	}
	left := slices.Clone(in.Messages[:n])
	for _, raw := range in.Messages[n:] {
		var m map[string]json.RawMessage
		if json.Unmarshal(raw, &m) != nil || string(m["role"]) != `"reasoning"` {
			continue
		}
		m["content"] = json.RawMessage(`""`)
		empty, err := marshal(m)
		if err != nil {
			return nil, err
		}
		left = append(left, empty)
	}
	return marshal(struct {
		Type     agui.Type         `json:"type"`
		Messages []json.RawMessage `json:"messages"`
	}{agui.MessagesSnapshot, left})
}

// asked is the last message that the agent did not write itself, and the answers to what it
// has asked; nil where there is neither. n is how many messages there are up to that one: what
// follows is what the client has of its answer, where it was cut off. given are the calls of tools
// whose results are the agent's.
func (in *runAgentInput) asked(given map[string]bool) (asked any, n int) {
	last, n := lastOf(in.Messages, func(m map[string]any) bool {
		call, _ := m["toolCallId"].(string)
		return m["role"] != "assistant" && m["role"] != "reasoning" && m["role"] != "activity" && (m["role"] != "tool" || !given[call])
	})
	if last == nil && in.Resume == nil {
		return nil, 0
	}
	return []any{last, in.Resume}, n
}

func roleOf(message json.RawMessage) string {
	var m struct{ Role string }
	_ = json.Unmarshal(message, &m) // another kind of thing has no role
	return m.Role
}

// resultsOf are the calls of tools whose results are events of the chat's newest run. A client that was
// cut off has them among its messages as if it had run the tools itself; it says nothing new by them.
func (s *Server) resultsOf(ctx context.Context, chat string) (map[string]bool, error) {
	e, err := s.newest(ctx, identity(ctx).Realm, chat)
	if errors.Is(err, runs.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, actTimeout) // there may be no room for it
	defer cancel()
	data, err := s.cfg.Hub.Snapshot(bounded, e)
	if errors.Is(err, consumer.ErrGone) {
		return nil, nil
	}
	if err != nil {
		return nil, waited(ctx, err)
	}
	defer data.Release()
	given := map[string]bool{}
	for event := range data.Events.Lines() {
		var result struct {
			Type       agui.Type `json:"type"`
			ToolCallID string    `json:"toolCallId"`
		}
		if bytes.Contains(event, []byte(agui.ToolCallResult)) && json.Unmarshal(event, &result) == nil && result.Type == agui.ToolCallResult {
			given[result.ToolCallID] = true
		}
	}
	return given, nil
}

// lastOf is what identifies the last message that is wanted: its id, or its
// place among them where it has none, and what it says; nil for none. n is how many messages
// there are up to that one.
func lastOf(messages []json.RawMessage, wanted func(message map[string]any) bool) (key any, n int) {
	var last map[string]any
	place := 0
	for i, raw := range messages {
		var m map[string]any
		if json.Unmarshal(raw, &m) != nil {
			continue // it is for the agent to say what it cannot take
		}
		if wanted(m) {
			last, n = m, i+1
			place++
		}
	}
	if last == nil {
		return nil, 0
	}
	id := last["id"]
	if named, _ := id.(string); named == "" {
		id = place
	}
	return []any{last["role"], id, last["toolCallId"], last["content"], last["parts"]}, n
}
