package uimessages

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/rejoin/rejoin/internal/agui"
)

// Input makes a RunAgentInput of what a client posts: the chat's messages, oldest first, and
// anything else that came along, a JSON object, as forwardedProps.
//
// Text and files of users, text and system messages stay what they are, under their ids. A
// tool call goes along with its result, and not without. What an agent has no use for,
// such as reasoning and data parts, is left out.
func Input(chat, runID string, messages []json.RawMessage, props json.RawMessage) (json.RawMessage, error) {
	list := []any{}
	for _, raw := range messages {
		m := fieldsOf(raw)
		var parts []json.RawMessage
		if p := m["parts"]; len(p) > 0 && p[0] == '[' {
			if err := json.Unmarshal(p, &parts); err != nil {
				return nil, err
			}
		}
		switch role := m.text("role"); role {
		case "assistant":
			list = append(list, said(m.text("id"), parts)...)
		case "system", "developer":
			list = append(list, message{ID: m.text("id"), Role: role, Content: quote(texts(parts))})
		default:
			list = append(list, message{ID: m.text("id"), Role: "user", Content: content(parts)})
		}
	}
	return encode(struct {
		ThreadID        string          `json:"threadId"`
		RunID           string          `json:"runId"`
		State           struct{}        `json:"state"`
		Messages        []any           `json:"messages"`
		Tools           []struct{}      `json:"tools"`
		Context         []struct{}      `json:"context"`
		ForwardedProps  json.RawMessage `json:"forwardedProps"`
		ProtocolVersion string          `json:"protocolVersion"`
	}{chat, runID, struct{}{}, list, []struct{}{}, []struct{}{}, props, agui.ProtocolVersion})
}

// message is one of a RunAgentInput.
type message struct {
	ID         string          `json:"id"`
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content,omitempty"`
	ToolCalls  []call          `json:"toolCalls,omitempty"`
	ToolCallID string          `json:"toolCallId,omitempty"`
}

type call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// texts joins what the text parts say.
func texts(parts []json.RawMessage) string {
	var all []string
	for _, raw := range parts {
		if p := fieldsOf(raw); p.text("type") == "text" {
			all = append(all, p.text("text"))
		}
	}
	return strings.Join(all, "\n")
}

// content is what a user says: a string, or a list where there are files.
func content(parts []json.RawMessage) json.RawMessage {
	var list []any
	files := false
	for _, raw := range parts {
		switch p := fieldsOf(raw); p.text("type") {
		case "text":
			list = append(list, map[string]string{"type": "text", "text": p.text("text")})
		case "file":
			files = true
			list = append(list, file(p))
		}
	}
	if !files {
		return quote(texts(parts))
	}
	b, err := encode(list)
	if err != nil {
		panic(err) // strings always marshal
	}
	return b
}

// file is a file by its kind; one that lies in its URL lies in the message.
func file(p fields) any {
	media := p.text("mediaType")
	kind, _, _ := strings.Cut(media, "/")
	switch kind {
	case "image", "audio", "video":
	default:
		kind = "document"
	}
	source := map[string]string{"type": "url", "value": p.text("url"), "mimeType": media}
	if rest, ok := strings.CutPrefix(p.text("url"), "data:"); ok {
		if head, data, ok := strings.Cut(rest, ","); ok && strings.HasSuffix(head, ";base64") {
			source["type"], source["value"] = "data", data
		}
	}
	f := map[string]any{"type": kind, "source": source}
	if name := p.text("filename"); name != "" {
		f["metadata"] = map[string]string{"filename": name}
	}
	return f
}

// said are the messages that one of an assistant's comes to: its text and calls, the
// results, and again where text follows these.
func said(id string, parts []json.RawMessage) []any {
	var all []any
	var words []string
	var calls []call
	var results []any
	flush := func() {
		if len(words) == 0 && len(calls) == 0 {
			return
		}
		m := message{ID: id, Role: "assistant", ToolCalls: calls}
		if len(all) > 0 {
			m.ID = id + "-" + strconv.Itoa(len(all))
		}
		if len(words) > 0 {
			m.Content = quote(strings.Join(words, "\n"))
		}
		all = append(append(all, m), results...)
		words, calls, results = nil, nil, nil
	}
	for _, raw := range parts {
		p := fieldsOf(raw)
		kind := p.text("type")
		if kind == "text" {
			if len(calls) > 0 {
				flush()
			}
			words = append(words, p.text("text"))
			continue
		}
		if c, result, ok := called(kind, p); ok {
			calls = append(calls, c)
			results = append(results, result)
		}
	}
	flush()
	return all
}

// called is a tool call that has its result.
func called(kind string, p fields) (c call, result message, ok bool) {
	name, static := strings.CutPrefix(kind, "tool-")
	if !static {
		name = p.text("toolName")
	}
	id := p.text("toolCallId")
	if !static && kind != "dynamic-tool" || id == "" {
		return c, result, false
	}
	result = message{ID: "result-" + id, Role: "tool", ToolCallID: id}
	switch p.text("state") {
	case "output-available":
		result.Content = p["output"]
		if !isString(result.Content) {
			result.Content = quote(string(compact(result.Content)))
		}
	case "output-error":
		result.Content = quote(p.text("errorText"))
	case "output-denied":
		result.Content = quote("denied")
	default:
		return c, result, false
	}
	c.ID, c.Type, c.Function.Name, c.Function.Arguments = id, "function", name, string(compact(p["input"]))
	return c, result, true
}

// compact is JSON on one line; what is missing is {}.
func compact(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if len(raw) == 0 || json.Compact(&b, raw) != nil {
		return []byte("{}")
	}
	return b.Bytes()
}

// encode is json.Marshal without escapes that only HTML needs.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
