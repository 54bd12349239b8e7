package demo

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"

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

func (e event) json() []byte {
	raw, err := json.Marshal(e)
	if err != nil {
		panic(err) // a struct of strings always marshals
	}
	return raw
}

// Script yields the events of turn n in a chat, as JSON. The same arguments yield
// the same bytes. sentences is the length of the answer; 0 means DefaultSentences.
func Script(chat string, n, sentences int) iter.Seq[[]byte] {
	if sentences == 0 {
		sentences = DefaultSentences
	}
	return func(yield func([]byte) bool) {
		for e := range turn(chat, n, sentences) {
			if !yield(e.json()) {
				return
			}
		}
	}
}

// ids names the things of a turn: the kind is what precedes the turn's own part.
type ids func(kind string) string

func turn(chat string, n, sentences int) iter.Seq[event] {
	id := ids(func(kind string) string { return fmt.Sprintf("%s-%d", kind, n) })
	reply := id("answer")
	return join(
		only(event{Type: agui.RunStarted, ThreadID: chat, RunID: id("turn")}),
		think(id),
		readLog(id, n),
		only(event{Type: agui.TextMessageStart, MessageID: reply, Role: "assistant"}),
		deltas(event{Type: agui.TextMessageContent, MessageID: reply}, answer(n, sentences)),
		only(event{Type: agui.TextMessageEnd, MessageID: reply},
			event{Type: agui.RunFinished, ThreadID: chat, RunID: id("turn")}),
	)
}

// think is a step with a thought in it.
func think(id ids) iter.Seq[event] {
	thought := id("thought")
	return join(
		only(event{Type: agui.StepStarted, StepName: "think"},
			event{Type: agui.ReasoningStart, MessageID: thought},
			event{Type: agui.ReasoningMessageStart, MessageID: thought, Role: "reasoning"}),
		deltas(event{Type: agui.ReasoningMessageContent, MessageID: thought}, tokens(thoughts)),
		only(event{Type: agui.ReasoningMessageEnd, MessageID: thought},
			event{Type: agui.ReasoningEnd, MessageID: thought},
			event{Type: agui.StepFinished, StepName: "think"}),
	)
}

// readLog is a tool call and its result.
func readLog(id ids, n int) iter.Seq[event] {
	return join(
		call(id("call"), "read_log", id("answer"), fmt.Sprintf(`{"turn":%d,"order":"newest last","limit":3}`, n)),
		only(result(id("call"), id("result"), fmt.Sprintf(`{"turns":%d,"lost":0}`, n))),
	)
}

// call is a tool call without its result; args must be ASCII.
func call(id, tool, parent, args string) iter.Seq[event] {
	return join(
		only(event{Type: agui.ToolCallStart, ToolCallID: id, ToolCallName: tool, ParentMessageID: parent}),
		deltas(event{Type: agui.ToolCallArgs, ToolCallID: id}, pieces(args, 6)),
		only(event{Type: agui.ToolCallEnd, ToolCallID: id}),
	)
}

func result(call, message, content string) event {
	return event{Type: agui.ToolCallResult, MessageID: message, ToolCallID: call, Role: "tool", Content: content}
}

func only(events ...event) iter.Seq[event] { return slices.Values(events) }

// deltas is e once for every piece that is not empty.
func deltas(e event, pieces iter.Seq[string]) iter.Seq[event] {
	return func(yield func(event) bool) {
		for e.Delta = range pieces {
			if e.Delta != "" && !yield(e) {
				return
			}
		}
	}
}

func join(parts ...iter.Seq[event]) iter.Seq[event] {
	return func(yield func(event) bool) {
		for _, part := range parts {
			for e := range part {
				if !yield(e) {
					return
				}
			}
		}
	}
}
