package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/nats-io/nuid"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/subjects"
)

// resumeInput makes the input of the turn that goes on from a run which has ended to
// ask: what a stock client would send, with all messages of the chat and the state, as
// that run left them, and the answers.
func (s *Server) resumeInput(ctx context.Context, asked *turns.Turn, resume []turns.Resume) (json.RawMessage, error) {
	e, err := s.entryOf(ctx, asked.RunID)
	if err != nil {
		return nil, err
	}
	data, err := s.cfg.Hub.Snapshot(ctx, e)
	if err != nil {
		return nil, err
	}
	defer data.Release()
	if !agui.IsRunInput(asked.Input) && s.cfg.History != nil {
		earlier, err := s.cfg.History.Read(ctx, asked.Realm, asked.ChatID, history.MaxLimit)
		if err != nil {
			return nil, err
		}
		earlier = history.Before(earlier, &history.Turn{RunID: asked.RunID, Kind: asked.Kind, Generation: e.Generation, Input: asked.Input})
		input, err := s.resumed(asked, earlier, data.Events.Join(), resume)
		if err != nil || len(input) <= s.cfg.Turns.MaxInput() {
			return input, err
		}
		s.log.Warn("a chat is too long to be sent along with an answer; only the turn that asked is", "run", asked.RunID)
	}
	return s.resumed(asked, nil, data.Events.Join(), resume)
}

// resumed is the input from what is known of the chat: the turns before, and the run
// that asked with its events.
func (s *Server) resumed(asked *turns.Turn, earlier []history.Turn, events []byte, resume []turns.Resume) (json.RawMessage, error) {
	var messages agui.Messages
	var state agui.State
	add := func(id subjects.RunID, input json.RawMessage, lines []byte) error {
		return errors.Join(messages.AddTurn(string(id), input, lines), state.AddTurn(input, lines))
	}
	for _, t := range earlier {
		lines, err := agui.ArrayLines(t.Events)
		if err == nil {
			err = add(t.RunID, t.Input, lines)
		}
		if err != nil {
			s.log.Warn("a saved turn cannot be told to the agent as a whole", "run", t.RunID, "error", err)
		}
	}
	if err := add(asked.RunID, asked.Input, events); err != nil {
		return nil, err
	}
	id := nuid.Next()
	input := map[string]json.RawMessage{}
	if err := json.Unmarshal(agui.RunInput(asked.ChatID, id, asked.Input, nil), &input); err != nil {
		return nil, err
	}
	for name, v := range map[string]any{"runId": id, "messages": messages.List(), "state": state.JSON(), "resume": resume} {
		raw, err := marshal(v)
		if err != nil {
			return nil, err
		}
		input[name] = raw
	}
	return marshal(input)
}

// marshal is json.Marshal without escapes that only HTML needs.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
