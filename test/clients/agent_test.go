package clients_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/producer/agent"
)

// What the agent says: in the first half, and when it goes on.
const (
	// UNI-03: separators of all kinds, and what would be another field of the stream.
	firstHalf  = "one\u2028two\u2029three\u0085\r\nfour \U0001F600\ndata: {\"type\":\"STREAM_END\"}\n\nevent: end\r"
	marker     = " HALF "
	secondHalf = "and the rest \u00e9\U0001F30D."
	thought    = "let me see"
	whole      = firstHalf + marker + secondHalf
)

// halves is an agent that says half of its answer, and the rest when it is told to go on. What it is asked says how:
// "quick" does not wait, "fail" fails instead of going on, "ask" asks for a permission, "tool" calls one of the client's.
type halves struct {
	mu     sync.Mutex
	chats  map[string]chan struct{}
	inputs map[string][]json.RawMessage
}

func newHalves() *halves {
	return &halves{chats: map[string]chan struct{}{}, inputs: map[string][]json.RawMessage{}}
}

func (h *halves) gate(chat string) chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.chats[chat] == nil {
		h.chats[chat] = make(chan struct{})
	}
	return h.chats[chat]
}

// goOn lets all runs of a chat go on.
func (h *halves) goOn(chat string) { close(h.gate(chat)) }

// asked are the inputs of a chat's runs so far.
func (h *halves) asked(chat string) []json.RawMessage {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.inputs[chat]
}

// Run implements agent.Agent. The ids are those of the run.
func (h *halves) Run(ctx context.Context, t agent.Turn) error {
	req := t.Request()
	h.mu.Lock()
	h.inputs[req.ChatID] = append(h.inputs[req.ChatID], req.Input)
	h.mu.Unlock()
	text, run := agui.UserText(req.Input), string(req.RunID)
	say := func(events ...map[string]any) error {
		for _, e := range events {
			raw, err := json.Marshal(e)
			if err == nil {
				err = t.Publish(ctx, raw)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	if strings.Contains(text, "tool") {
		return clientsTool(say, req)
	}
	answer := func(delta string) map[string]any {
		return map[string]any{"type": "TEXT_MESSAGE_CONTENT", "messageId": "answer-" + run, "delta": delta}
	}
	err := say(map[string]any{"type": "RUN_STARTED", "threadId": req.ChatID, "runId": run},
		map[string]any{"type": "REASONING_MESSAGE_START", "messageId": "thought-" + run, "role": "reasoning"},
		map[string]any{"type": "REASONING_MESSAGE_CONTENT", "messageId": "thought-" + run, "delta": thought},
		map[string]any{"type": "REASONING_MESSAGE_END", "messageId": "thought-" + run},
		map[string]any{"type": "TEXT_MESSAGE_START", "messageId": "answer-" + run, "role": "assistant"},
		answer(firstHalf[:7]), answer(firstHalf[7:]), answer(marker))
	if err != nil {
		return err
	}
	if strings.Contains(text, "ask") {
		if _, err := t.Ask(ctx, agent.Question{Name: "test.permission", Options: []string{"allow", "deny"}, Value: map[string]any{"title": "May I?"}}); err != nil {
			return err
		}
	}
	if !strings.Contains(text, "quick") {
		select {
		case <-h.gate(req.ChatID):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if strings.Contains(text, "fail") {
		return errFail
	}
	call := "call-" + run
	return say(answer(secondHalf[:9]), answer(secondHalf[9:]),
		map[string]any{"type": "TEXT_MESSAGE_END", "messageId": "answer-" + run},
		map[string]any{"type": "TOOL_CALL_START", "toolCallId": call, "toolCallName": "look", "parentMessageId": "answer-" + run},
		map[string]any{"type": "TOOL_CALL_ARGS", "toolCallId": call, "delta": `{"at":`},
		map[string]any{"type": "TOOL_CALL_ARGS", "toolCallId": call, "delta": `"it"}`},
		map[string]any{"type": "TOOL_CALL_END", "toolCallId": call},
		map[string]any{"type": "TOOL_CALL_RESULT", "messageId": "result-" + run, "toolCallId": call, "content": "seen", "role": "tool"})
}

// clientsTool calls a tool of the client's, and says what it came to once that is known.
func clientsTool(say func(...map[string]any) error, req *agent.Request) error {
	var input struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal(req.Input, &input); err != nil {
		return err
	}
	run := string(req.RunID)
	started := map[string]any{"type": "RUN_STARTED", "threadId": req.ChatID, "runId": run}
	last := input.Messages[len(input.Messages)-1]
	if last.Role != "tool" {
		return say(started, map[string]any{"type": "TOOL_CALL_START", "toolCallId": "confirm-" + run, "toolCallName": "confirm"},
			map[string]any{"type": "TOOL_CALL_END", "toolCallId": "confirm-" + run})
	}
	return say(started, map[string]any{"type": "TEXT_MESSAGE_START", "messageId": "answer-" + run, "role": "assistant"},
		map[string]any{"type": "TEXT_MESSAGE_CONTENT", "messageId": "answer-" + run, "delta": "it said " + last.Content},
		map[string]any{"type": "TEXT_MESSAGE_END", "messageId": "answer-" + run})
}
