package agui

import (
	"bytes"
	"encoding/json"
)

// Outcomes of a run that somebody else ends for its agent.
const (
	OutcomeSuccess   = "success"
	OutcomeCancelled = "cancelled"
)

// cutShort is what a subagent that is closed from outside is given as its error.
const cutShort = "the run ended before this subagent did"

// closer is the event that ends an item. The order of fields is that on the wire.
type closer struct {
	Type          Type            `json:"type"`
	MessageID     json.RawMessage `json:"messageId,omitempty"`
	ToolCallID    json.RawMessage `json:"toolCallId,omitempty"`
	StepName      json.RawMessage `json:"stepName,omitempty"`
	SubagentRunID json.RawMessage `json:"subagentRunId,omitempty"`
	Message       string          `json:"message,omitempty"`
}

// CloseAll returns the events that end what is open, the newest first, as it has to
// be before a RUN_FINISHED. Nothing is taken note of: Add them as they are published.
// There are none once there is a terminal event.
func (o *Open) CloseAll() [][]byte {
	events := make([][]byte, 0, len(o.items))
	for i := len(o.items) - 1; i >= 0; i-- {
		events = append(events, o.items[i].close())
	}
	return events
}

func (it *item) close() []byte {
	var e closer
	id := quoted(it.id)
	if it.subagent != nil {
		e.SubagentRunID = quoted(it.subagent)
	}
	switch it.kind {
	case TextMessageStart:
		e.Type, e.MessageID = TextMessageEnd, id
	case ReasoningStart:
		e.Type, e.MessageID = ReasoningEnd, id
	case ReasoningMessageStart:
		e.Type, e.MessageID = ReasoningMessageEnd, id
	case ThinkingStart:
		e.Type = ThinkingEnd
	case ThinkingTextMessageStart:
		e.Type = ThinkingTextMessageEnd
	case ToolCallStart:
		e.Type, e.ToolCallID = ToolCallEnd, id
	case StepStarted:
		e.Type, e.StepName = StepFinished, id
	case SubagentStarted:
		e.Type, e.SubagentRunID, e.Message = SubagentError, id, cutShort
	}
	return encode(e)
}

// NewRunStarted makes a RUN_STARTED. An input that is not a JSON object is left out;
// a client takes only a RunAgentInput, see [RunInput].
func NewRunStarted(threadID, runID string, input json.RawMessage) []byte {
	e := struct {
		Type     Type            `json:"type"`
		ThreadID string          `json:"threadId"`
		RunID    string          `json:"runId"`
		Input    json.RawMessage `json:"input,omitempty"`
	}{RunStarted, threadID, runID, nil}
	if isObject(input) {
		e.Input = input
		if raw := encode(e); Scan(raw, new(Event)) == nil {
			return raw // and not nested too deeply
		}
		e.Input = nil
	}
	return encode(e)
}

// RunFinished makes a RUN_FINISHED for the run that was started, with the outcome
// OutcomeSuccess or OutcomeCancelled.
func (o *Open) RunFinished(outcome string) []byte {
	type typed struct {
		Type string `json:"type"`
	}
	return encode(struct {
		Type     Type            `json:"type"`
		ThreadID json.RawMessage `json:"threadId"`
		RunID    json.RawMessage `json:"runId"`
		Outcome  typed           `json:"outcome"`
	}{RunFinished, quoted(o.thread), quoted(o.run), typed{outcome}})
}

// NewRunError makes a RUN_ERROR. code may be "".
func NewRunError(message, code string) []byte {
	return encode(struct {
		Type    Type   `json:"type"`
		Message string `json:"message"`
		Code    string `json:"code,omitempty"`
	}{RunError, message, code})
}

// quoted makes the body of a JSON string a JSON string again.
func quoted(body []byte) json.RawMessage {
	return append(append(append(make([]byte, 0, len(body)+2), '"'), body...), '"')
}

// encode makes an event of a struct, on one line. Nothing in it can fail to marshal.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), newline)
}

// isObject reports whether raw is valid JSON, an object, and no deeper than an event
// has room for.
func isObject(raw []byte) bool {
	i := space(raw, 0)
	if i >= len(raw) || raw[i] != '{' {
		return false
	}
	end, err := value(raw, i)
	return err == nil && space(raw, end) == len(raw)
}
