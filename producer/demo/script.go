package demo

import (
	"encoding/json"
	"fmt"
	"iter"

	"github.com/rejoin/rejoin/internal/agui"
)

// DefaultSentences make a turn of some 1,200 events: a minute at 20 a second.
const DefaultSentences = 54

// event is one AG-UI event. The order of its fields is that on the wire.
type event struct {
	Type            agui.Type `json:"type"`
	ThreadID        string    `json:"threadId,omitempty"`
	RunID           string    `json:"runId,omitempty"`
	StepName        string    `json:"stepName,omitempty"`
	MessageID       string    `json:"messageId,omitempty"`
	ToolCallID      string    `json:"toolCallId,omitempty"`
	ToolCallName    string    `json:"toolCallName,omitempty"`
	ParentMessageID string    `json:"parentMessageId,omitempty"`
	Role            string    `json:"role,omitempty"`
	Delta           string    `json:"delta,omitempty"`
	Content         string    `json:"content,omitempty"`
}

// Script yields the events of turn n in a chat, as JSON. The same arguments yield
// the same bytes. sentences is the length of the answer; 0 means DefaultSentences.
func Script(chat string, n, sentences int) iter.Seq[[]byte] {
	if sentences == 0 {
		sentences = DefaultSentences
	}
	return func(yield func([]byte) bool) {
		for e := range turn(chat, n, sentences) {
			raw, err := json.Marshal(e)
			if err != nil {
				panic(err) // a struct of strings always marshals
			}
			if !yield(raw) {
				return
			}
		}
	}
}

func turn(chat string, n, sentences int) iter.Seq[event] {
	id := func(kind string) string { return fmt.Sprintf("%s-%d", kind, n) }
	return func(yield func(event) bool) {
		say := func(events ...event) bool {
			for _, e := range events {
				if !yield(e) {
					return false
				}
			}
			return true
		}
		deltas := func(e event, pieces iter.Seq[string]) bool {
			for e.Delta = range pieces {
				if e.Delta != "" && !yield(e) {
					return false
				}
			}
			return true
		}
		thought, call, reply := id("thought"), id("call"), id("answer")
		_ = say(event{Type: agui.RunStarted, ThreadID: chat, RunID: id("turn")},
			event{Type: agui.StepStarted, StepName: "think"},
			event{Type: agui.ReasoningStart, MessageID: thought},
			event{Type: agui.ReasoningMessageStart, MessageID: thought, Role: "reasoning"}) &&
			deltas(event{Type: agui.ReasoningMessageContent, MessageID: thought}, tokens(thoughts)) &&
			say(event{Type: agui.ReasoningMessageEnd, MessageID: thought},
				event{Type: agui.ReasoningEnd, MessageID: thought},
				event{Type: agui.StepFinished, StepName: "think"},
				event{Type: agui.ToolCallStart, ToolCallID: call, ToolCallName: "read_log", ParentMessageID: reply}) &&
			deltas(event{Type: agui.ToolCallArgs, ToolCallID: call}, pieces(fmt.Sprintf(`{"turn":%d,"order":"newest last","limit":3}`, n), 6)) &&
			say(event{Type: agui.ToolCallEnd, ToolCallID: call},
				event{Type: agui.ToolCallResult, MessageID: id("result"), ToolCallID: call, Role: "tool", Content: fmt.Sprintf(`{"turns":%d,"lost":0}`, n)},
				event{Type: agui.TextMessageStart, MessageID: reply, Role: "assistant"}) &&
			deltas(event{Type: agui.TextMessageContent, MessageID: reply}, answer(n, sentences)) &&
			say(event{Type: agui.TextMessageEnd, MessageID: reply},
				event{Type: agui.RunFinished, ThreadID: chat, RunID: id("turn")})
	}
}
