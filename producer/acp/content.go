package acp

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/rejoin/rejoin/producer/acp/process"
)

// content is what the user says in a turn: parts in order.
type content []part

// part is a part of an AG-UI user message. Two forms are about: a source with a type of
// its own, and "binary" with everything in the part.
type part struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	MimeType string `json:"mimeType"`
	Data     string `json:"data"`
	URL      string `json:"url"`
	Filename string `json:"filename"`
	Source   struct {
		Type     string `json:"type"`
		Value    string `json:"value"`
		MimeType string `json:"mimeType"`
	} `json:"source"`
}

// userContent reads a turn's input: {"text":"…"}, or a RunAgentInput, of which the newest
// user message counts. What was said before, the agent's session knows.
func userContent(input json.RawMessage) (content, error) {
	var in struct {
		Text     string `json:"text"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, fmt.Errorf("%w: it has to be a RunAgentInput or {\"text\":\"…\"}", ErrInput)
	}
	if in.Messages == nil {
		return said(in.Text)
	}
	for i := len(in.Messages) - 1; i >= 0; i-- {
		if m := in.Messages[i]; m.Role == "user" {
			return messageContent(m.Content)
		}
	}
	return nil, fmt.Errorf("%w: none of its messages has the role \"user\"", ErrInput)
}

func messageContent(raw json.RawMessage) (content, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return said(text)
	}
	var parts content
	if json.Unmarshal(raw, &parts) != nil {
		return nil, fmt.Errorf("%w: the content of the user's message has to be a string or an array of parts", ErrInput)
	}
	if len(parts) == 0 {
		return said("")
	}
	return parts, nil
}

func said(text string) (content, error) {
	if strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("%w: the user's message is empty", ErrInput)
	}
	return content{{Type: "text", Text: text}}, nil
}

// blocks makes content blocks, of the kinds the agent takes. In place of others it is
// told what it does not see.
func (c content) blocks(able capabilities) []object {
	blocks := []object{}
	for _, p := range c {
		if p.Type == "text" {
			blocks = append(blocks, textBlock(p.Text))
			continue
		}
		p.level()
		blocks = append(blocks, p.block(able))
	}
	return blocks
}

// level gives both forms of a part one form.
func (p *part) level() {
	or(&p.MimeType, p.Source.MimeType)
	switch p.Source.Type {
	case "data":
		or(&p.Data, p.Source.Value)
	case "url":
		or(&p.URL, p.Source.Value)
	}
}

func (p *part) block(able capabilities) object {
	family, _, _ := strings.Cut(p.MimeType, "/")
	switch {
	case p.Data != "" && family == "image" && able.Prompt.Image:
		return object{"type": "image", "data": p.Data, "mimeType": p.MimeType}
	case p.Data != "" && family == "audio" && able.Prompt.Audio:
		return object{"type": "audio", "data": p.Data, "mimeType": p.MimeType}
	case p.Data != "" && able.Prompt.Embedded:
		return object{"type": "resource", "resource": p.resource(object{"blob": p.Data, "uri": "attachment:///" + p.name()})}
	case p.Data == "" && p.URL != "":
		link := p.resource(object{"type": "resource_link", "uri": p.URL, "name": p.name()})
		return link
	}
	return textBlock(fmt.Sprintf("[The user attached %s, which cannot be shown to you.]", p.name()))
}

func (p *part) resource(o object) object {
	if p.MimeType != "" {
		o["mimeType"] = p.MimeType
	}
	return o
}

// name is what to call an attachment.
func (p *part) name() string {
	name := p.Filename
	if name == "" && p.URL != "" && !strings.HasPrefix(p.URL, "data:") {
		at, _, _ := strings.Cut(p.URL, "?")
		name = path.Base(at)
	}
	or(&name, p.MimeType)
	or(&name, p.Type)
	or(&name, "a file")
	return process.Clean([]byte(name), 100)
}

func textBlock(text string) object { return object{"type": "text", "text": text} }
