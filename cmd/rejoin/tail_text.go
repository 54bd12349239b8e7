package main

import (
	"bufio"
	"encoding/json"
	"fmt"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/subjects"
)

// textPrinter shows text as it comes, and other events as one line each. Text of one
// message, reasoning or tool call is a block; a new block begins on a new line.
type textPrinter struct {
	w     *bufio.Writer
	run   subjects.RunID
	block string // which one is open; "" for none
	line  bool   // something stands on the current line
}

// shown is what of an event is shown.
type shown struct {
	Type         agui.Type       `json:"type"`
	MessageID    string          `json:"messageId"`
	ToolCallID   string          `json:"toolCallId"`
	ToolCallName string          `json:"toolCallName"`
	StepName     string          `json:"stepName"`
	Name         string          `json:"name"`
	Role         string          `json:"role"`
	Delta        json.RawMessage `json:"delta"`
	Content      json.RawMessage `json:"content"`
	Message      string          `json:"message"`
}

func (p *textPrinter) frame(f consumer.Frame) error {
	switch f.Type {
	case consumer.Snapshot:
		p.begin(f)
		for line := range agui.Lines(f.Events) {
			p.event(line)
		}
	case consumer.Event:
		if p.run != f.RunID {
			p.run = f.RunID
			p.note("run %s", f.RunID)
		}
		p.event(f.Event)
	case consumer.End:
		p.note("%s", endWords(&f.End))
	}
	return p.w.Flush()
}

func (p *textPrinter) close() error {
	p.endLine()
	return p.w.Flush()
}

// begin says what a snapshot is of.
func (p *textPrinter) begin(f consumer.Frame) {
	again := ""
	if p.run == f.RunID {
		again = "; what follows replaces what is above"
	}
	p.run = f.RunID
	p.note("run %s, snapshot at seq %d%s", f.RunID, f.Seq, again)
}

// note is a line of our own.
func (p *textPrinter) note(format string, args ...any) {
	p.endLine()
	fmt.Fprintf(p.w, "── %s\n", printable(fmt.Sprintf(format, args...)))
}

func (p *textPrinter) endLine() {
	if p.line {
		_ = p.w.WriteByte('\n')
	}
	p.line, p.block = false, ""
}

func (p *textPrinter) event(raw []byte) {
	var e shown
	if err := json.Unmarshal(raw, &e); err != nil {
		p.summary(raw, "") // fields of other types than usual
		return
	}
	switch e.Type {
	case agui.TextMessageContent, agui.TextMessageChunk:
		p.say(e.MessageID, "", text(e.Delta))
	case agui.ReasoningMessageContent, agui.ReasoningMessageChunk, agui.ThinkingTextMessageContent:
		p.say("reasoning "+e.MessageID, "(thinks) ", text(e.Delta))
	case agui.ToolCallArgs, agui.ToolCallChunk:
		p.say("tool "+e.ToolCallID, "(arguments) ", text(e.Delta))
	case agui.ToolCallStart:
		p.item("calls %s", e.ToolCallName)
	case agui.ToolCallResult:
		p.item("result: %s", text(e.Content))
	case agui.StepStarted:
		p.item("step %s", e.StepName)
	case agui.RunError:
		p.item("RUN_ERROR %s", e.Message)
	case agui.TextMessageStart, agui.TextMessageEnd, agui.ReasoningStart, agui.ReasoningMessageStart,
		agui.ReasoningMessageEnd, agui.ReasoningEnd, agui.ThinkingStart, agui.ThinkingTextMessageStart,
		agui.ThinkingTextMessageEnd, agui.ThinkingEnd, agui.ToolCallEnd, agui.StepFinished:
		p.endLine() // the blocks show them
	case agui.RunStarted, agui.RunFinished:
		p.item("%s", string(e.Type))
	default:
		p.summary(raw, e.Name)
	}
}

// say adds to a block.
func (p *textPrinter) say(block, label, words string) {
	if words == "" {
		return
	}
	if p.block != block || !p.line && p.block == "" {
		p.endLine()
		_, _ = p.w.WriteString(label)
		p.block = block
	}
	words = printableText(words)
	_, _ = p.w.WriteString(words)
	p.line = words[len(words)-1] != '\n'
}

// longest is how many characters of an event other than text are shown.
const longest = 200

func (p *textPrinter) item(format string, args ...any) {
	p.endLine()
	fmt.Fprintf(p.w, "· %s\n", printable(shorten(fmt.Sprintf(format, args...), longest)))
}

// summary is the line of an event that has no other form.
func (p *textPrinter) summary(raw []byte, name string) {
	var e agui.Event
	if err := agui.Scan(raw, &e); err != nil {
		p.item("%s", string(raw))
		return
	}
	if name != "" {
		name = " " + name
	}
	p.item("%s%s %s", string(e.TypeName()), name, string(e.Raw))
}

// text is a JSON string decoded, and anything else as it stands.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
