package uimessages

import (
	"encoding/json"

	"github.com/rejoin/rejoin/internal/agui"
)

// Bounds of what is kept of a run. What goes beyond is shown in a plainer way, and never
// breaks a client.
const (
	maxOpen      = 256     // parts of text and reasoning that are open at once
	maxTools     = 4096    // tool calls whose results are still known to be theirs
	maxArguments = 1 << 20 // bytes of one tool call's arguments, as written
	maxQuestions = 64      // questions that are open at once
	maxSeen      = 4096    // activities of which it is known that they were shown
)

// Mapper makes the chunks of one message of the events of one run. It is not safe for
// concurrent use.
type Mapper struct {
	id   string
	emit Emit

	begun   bool // start was emitted
	used    bool // something was, since the last start-step
	over    bool // nothing follows any more
	outcome string

	open      []part // text and reasoning, in the order in which they began
	aside     map[string]bool
	thoughts  int // reasoning without an id of its own
	chunked   *chunked
	tools     map[string]*tool
	calls     []string // ids of tools, in the order in which they began
	questions map[string]*question
	asked     []string // ids of questions, in their order
	seen      map[string]bool
}

// New makes a mapper for a message. messageID is the id that the client shall know it by.
func New(messageID string) *Mapper {
	return &Mapper{id: messageID, aside: map[string]bool{}, tools: map[string]*tool{},
		questions: map[string]*question{}, seen: map[string]bool{}}
}

// Over says whether the client has been told of an error, after which it reads nothing.
func (m *Mapper) Over() bool { return m.over }

// Event emits the chunks of one event, which is valid as internal/agui sees it.
func (m *Mapper) Event(raw []byte, emit Emit) {
	if m.over {
		return
	}
	m.emit = emit
	defer func() { m.emit = nil }()
	e := fieldsOf(raw)
	kind := agui.Type(e.text("type"))
	again := m.begun
	m.begin()
	if !goesBeside(kind) {
		m.endChunked(kind, e)
	}
	switch kind {
	case agui.RunStarted:
		if again {
			m.step()
		}
		m.outcome = ""
	case agui.RunFinished:
		m.outcome = outcomeOf(e["outcome"])
	case agui.RunError:
		m.fail(e.text("message"))
	case agui.StepStarted:
		m.step()
	case agui.TextMessageStart, agui.TextMessageContent, agui.TextMessageEnd,
		agui.ReasoningMessageStart, agui.ReasoningMessageContent, agui.ReasoningMessageEnd,
		agui.ThinkingTextMessageStart, agui.ThinkingTextMessageContent, agui.ThinkingTextMessageEnd:
		m.words(kind, e)
	case agui.TextMessageChunk, agui.ReasoningMessageChunk, agui.ToolCallChunk:
		m.chunk(kind, e)
	case agui.ToolCallStart:
		m.callStart(e.text("toolCallId"), e.text("toolCallName"))
	case agui.ToolCallArgs:
		m.callArgs(e.text("toolCallId"), e["delta"])
	case agui.ToolCallEnd:
		m.callEnd(e.text("toolCallId"))
	case agui.ToolCallResult:
		m.callResult(e)
	case agui.Custom:
		m.custom(e)
	case agui.StepFinished, agui.ReasoningStart, agui.ReasoningEnd, agui.ReasoningEncryptedValue, agui.ThinkingStart, agui.ThinkingEnd:
	default:
		m.data(kind, e, raw)
	}
}

// send emits a chunk that makes a step one that is not empty.
func (m *Mapper) send(o *object) {
	m.used = true
	m.emit(o.done()...)
}

// begin emits what every message begins with.
func (m *Mapper) begin() {
	if m.begun {
		return
	}
	m.begun = true
	m.emit(chunk("start").text("messageId", m.id).done()...)
	m.emit(chunk("start-step").done()...)
}

// step begins another step, unless this one is empty still. A client looks for a tool call
// whose input is open only in the step at hand.
func (m *Mapper) step() {
	if !m.used || m.inputOpen() {
		return
	}
	m.used = false
	m.emit(chunk("finish-step").done()...)
	m.emit(chunk("start-step").done()...)
}

// outcomeOf is the kind of a RUN_FINISHED's outcome.
func outcomeOf(raw json.RawMessage) string {
	if isString(raw) {
		return textOf(raw)
	}
	return fieldsOf(raw).text("type")
}
