package uimessages

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/rejoin/rejoin/internal/agui"
)

// tool is a tool call. All of them are dynamic ones to a client: nobody has told the relay
// which tools it was built with.
type tool struct {
	name   string
	args   []byte // the inside of the deltas' strings, joined as written
	large  bool   // there were more than are kept
	input  bool   // still comes
	output bool   // has come
	asked  bool   // a question about it is open
}

// inputOpen says whether the input of a tool call is still coming.
func (m *Mapper) inputOpen() bool {
	for _, t := range m.tools {
		if t.input {
			return true
		}
	}
	return false
}

func (m *Mapper) callStart(id, name string) {
	if t := m.tools[id]; t != nil && t.input {
		return
	}
	m.know(id, &tool{name: name, input: true})
	m.send(chunk("tool-input-start").text("toolCallId", id).text("toolName", name).yes("dynamic"))
}

// know takes note of a tool call, and forgets the oldest one where there are too many.
func (m *Mapper) know(id string, t *tool) {
	if m.tools[id] != nil {
		m.calls = slices.DeleteFunc(m.calls, func(c string) bool { return c == id })
	}
	if len(m.calls) == maxTools {
		m.callEnd(m.calls[0])
		delete(m.tools, m.calls[0])
		m.calls = m.calls[1:]
	}
	m.tools[id] = t
	m.calls = append(m.calls, id)
}

func (m *Mapper) callArgs(id string, delta []byte) {
	t := m.tools[id]
	if t == nil || !t.input || !isString(delta) {
		return
	}
	if body := delta[1 : len(delta)-1]; len(t.args)+len(body) <= maxArguments {
		t.args = append(t.args, body...)
	} else {
		t.large, t.args = true, nil
	}
	m.send(chunk("tool-input-delta").text("toolCallId", id).raw("inputTextDelta", delta))
}

// callEnd says what the input has come to.
func (m *Mapper) callEnd(id string) {
	t := m.tools[id]
	if t == nil || !t.input {
		return
	}
	// A string's two quotes, and what is between them: halves of one character that two deltas
	// had are one again.
	args := textOf(slices.Concat([]byte{'"'}, t.args, []byte{'"'}))
	large := t.large
	t.input, t.args = false, nil
	switch {
	case large:
		m.inputError(id, t.name, nil, "the arguments are too large to be shown")
	case strings.TrimSpace(args) == "":
		m.inputAvailable(id, t.name, []byte("{}"))
	case !json.Valid([]byte(args)):
		m.inputError(id, t.name, quote(args), "the arguments are not JSON")
	default:
		m.inputAvailable(id, t.name, flat(args))
	}
}

func (m *Mapper) inputAvailable(id, name string, input []byte) {
	m.send(chunk("tool-input-available").text("toolCallId", id).text("toolName", name).raw("input", input).yes("dynamic"))
}

func (m *Mapper) inputError(id, name string, input []byte, why string) {
	m.send(chunk("tool-input-error").text("toolCallId", id).text("toolName", name).raw("input", input).yes("dynamic").text("errorText", why))
}

// callResult says what a tool call has come to. That the agent says so means that it was the
// agent's to execute: providerExecuted keeps clients from sending it back.
func (m *Mapper) callResult(e fields) {
	id := e.text("toolCallId")
	t := m.tools[id]
	if t == nil { // of a call that an earlier run has made
		m.send(chunk("data-tool-result").text("id", id).raw("data", result(e["content"])))
		return
	}
	m.callEnd(id)
	t.output = true
	if why := e.text("error"); why != "" {
		m.send(chunk("tool-output-error").text("toolCallId", id).text("errorText", why).yes("dynamic").yes("providerExecuted"))
		return
	}
	m.outputAvailable(id, result(e["content"]))
}

func (m *Mapper) outputAvailable(id string, output []byte) {
	m.send(chunk("tool-output-available").text("toolCallId", id).raw("output", output).yes("dynamic").yes("providerExecuted"))
}

// result is the content of a tool's result: an object or an array where it is the text of one.
func result(content json.RawMessage) []byte {
	if s := strings.TrimSpace(textOf(content)); s != "" && (s[0] == '{' || s[0] == '[') && json.Valid([]byte(s)) {
		return flat(s)
	}
	return content
}

// flat is JSON on one line.
func flat(s string) []byte {
	b := []byte(s)
	agui.Flatten(b)
	return b
}
