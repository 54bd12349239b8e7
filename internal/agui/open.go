package agui

import "bytes"

// An agent may leave this much open, and this many bytes of ids, and have this many
// interrupts. What is beyond is passed on and not kept in mind: see Overflowed.
const (
	maxOpen       = 1024
	maxOpenIDs    = 256 << 10
	maxInterrupts = 64
)

// Open keeps track of what a sequence of events has begun and not ended, so that
// somebody else can end it. The zero value is a run of which nothing is known.
//
// It follows what a strict client demands before a RUN_FINISHED: text messages,
// reasoning and its messages, thinking, tool calls, steps and subagents are ended.
// Events made of chunks leave nothing open. It is not safe for concurrent use.
type Open struct {
	started    bool
	thread     []byte // the ids of RUN_STARTED as written
	run        []byte
	terminal   Type
	items      []item // oldest first
	calls      [][]byte
	interrupts []Interrupt
	size       int // of the ids in items and calls
	overflowed bool
}

// item is something that is open: what opened it, and its id as written.
type item struct {
	kind     Type
	id       []byte
	subagent []byte // nil for none
}

// Add takes note of an event that Scan has made. It copies what it keeps.
func (o *Open) Add(e *Event) {
	switch e.Type {
	case RunStarted:
		if o.terminal != "" {
			*o = Open{}
		}
		thread, _ := e.text("threadId")
		run, _ := e.text("runId")
		o.started, o.thread, o.run = true, bytes.Clone(thread), bytes.Clone(run)
	case RunFinished, RunError:
		*o = Open{started: o.started, thread: o.thread, run: o.run, terminal: e.Type, interrupts: Interrupts(e)}
	case TextMessageStart, ReasoningStart, ReasoningMessageStart, ThinkingStart, ThinkingTextMessageStart, StepStarted, SubagentStarted:
		o.begin(e, e.Type)
	case ToolCallStart:
		o.begin(e, e.Type)
		o.called(e)
	case ToolCallChunk:
		o.called(e)
	case ToolCallResult:
		o.answered(e)
	case TextMessageEnd:
		o.end(e, TextMessageStart)
	case ReasoningEnd:
		o.end(e, ReasoningStart)
	case ReasoningMessageEnd:
		o.end(e, ReasoningMessageStart)
	case ThinkingEnd:
		o.end(e, ThinkingStart)
	case ThinkingTextMessageEnd:
		o.end(e, ThinkingTextMessageStart)
	case ToolCallEnd:
		o.end(e, ToolCallStart)
	case StepFinished:
		o.end(e, StepStarted)
	case SubagentFinished, SubagentError:
		o.end(e, SubagentStarted)
	}
}

// Started reports whether there was a RUN_STARTED.
func (o *Open) Started() bool { return o.started }

// Terminal is RunFinished or RunError if one of them came, and no RUN_STARTED after
// it; otherwise "".
func (o *Open) Terminal() Type { return o.terminal }

// Interrupts is what the RUN_FINISHED that came last waits for.
func (o *Open) Interrupts() []Interrupt { return o.interrupts }

// Overflowed reports that more was open at once than is kept in mind, so that a
// RUN_FINISHED may be refused by strict clients, and a RUN_ERROR is right.
func (o *Open) Overflowed() bool { return o.overflowed }

// Unanswered lists the ids of the tool calls that have no result, oldest first.
func (o *Open) Unanswered() []string {
	var ids []string
	for _, id := range o.calls {
		ids = append(ids, decode(id))
	}
	return ids
}

// key is the name of the field that tells things of a kind apart, "" where there can
// be only one.
func key(kind Type) string {
	switch kind {
	case ToolCallStart:
		return "toolCallId"
	case StepStarted:
		return "stepName"
	case SubagentStarted:
		return "subagentRunId"
	case ThinkingStart, ThinkingTextMessageStart:
		return ""
	}
	return "messageId"
}

func (o *Open) begin(e *Event, kind Type) {
	id, ok := e.text(key(kind))
	if !ok && key(kind) != "" {
		return // not an event that a client would take
	}
	subagent, _ := e.text("subagentRunId")
	if o.find(kind, id, subagent) >= 0 || !o.room(len(o.items), len(id)+len(subagent)) {
		return
	}
	o.items = append(o.items, item{kind, bytes.Clone(id), bytes.Clone(subagent)})
}

func (o *Open) end(e *Event, kind Type) {
	id, _ := e.text(key(kind))
	subagent, _ := e.text("subagentRunId")
	if i := o.find(kind, id, subagent); i >= 0 {
		o.size -= len(o.items[i].id) + len(o.items[i].subagent)
		o.items = append(o.items[:i], o.items[i+1:]...)
	}
}

// find looks for what is open from the newest to the oldest. Only steps of different
// subagents may bear the same name.
func (o *Open) find(kind Type, id, subagent []byte) int {
	for i := len(o.items) - 1; i >= 0; i-- {
		it := &o.items[i]
		if it.kind == kind && alike(it.id, id) && (kind != StepStarted || alike(it.subagent, subagent)) {
			return i
		}
	}
	return -1
}

func (o *Open) called(e *Event) {
	id, ok := e.text("toolCallId")
	if ok && o.call(id) < 0 && o.room(len(o.calls), len(id)) {
		o.calls = append(o.calls, bytes.Clone(id))
	}
}

func (o *Open) answered(e *Event) {
	id, _ := e.text("toolCallId")
	if i := o.call(id); i >= 0 {
		o.size -= len(o.calls[i])
		o.calls = append(o.calls[:i], o.calls[i+1:]...)
	}
}

func (o *Open) call(id []byte) int {
	for i := len(o.calls) - 1; i >= 0; i-- {
		if alike(o.calls[i], id) {
			return i
		}
	}
	return -1
}

// room reports whether one more may be kept beside n, and counts it.
func (o *Open) room(n, size int) bool {
	if n >= maxOpen || o.size+size > maxOpenIDs {
		o.overflowed = true
		return false
	}
	o.size += size
	return true
}
