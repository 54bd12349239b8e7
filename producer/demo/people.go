package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rejoin/rejoin/producer/agent"
)

// What the demo says to people, and asks them.

// quoteLimit is how many characters of a message are said back.
const quoteLimit = 200

func quote(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > quoteLimit {
		text = string(r[:quoteLimit]) + "…"
	}
	return "“" + text + "”"
}

func youSaid(text string) string {
	if strings.TrimSpace(text) == "" {
		return "You said nothing, so I choose what we talk about. "
	}
	return "You said " + quote(text) + ". "
}

func youAlsoSaid(text string) string {
	return "Meanwhile you said " + quote(text) + ", and I have heard it. "
}

func permission(call string) agent.Question {
	return agent.Question{
		Name: "demo.permission",
		Value: map[string]any{
			"title":      "May I read the rest of the log?",
			"toolCallId": call,
			"options": []map[string]string{
				{"optionId": "allow", "name": "Allow", "kind": "allow_once"},
				{"optionId": "deny", "name": "Deny", "kind": "reject_once"},
			},
		},
		Options: []string{"allow", "deny"},
	}
}

func decided(a agent.Answer) string {
	var o struct {
		OptionID string `json:"optionId"`
	}
	_ = json.Unmarshal(a.Outcome, &o) // what is no choice is no permission
	switch {
	case a.Status == agent.Selected && o.OptionID == "allow":
		return "You allowed it, so I read on. "
	case a.Status == agent.Selected:
		return "You denied it, so I leave the rest unread. "
	}
	return "Nobody decided, so I leave the rest unread. "
}

func form() agent.Question {
	return agent.Question{
		Name: "demo.form",
		Value: map[string]any{
			"title":   "How shall I go on?",
			"message": "Choose a colour, and say how many.",
			"requestedSchema": map[string]any{
				"type": "object",
				"properties": map[string]any{
					"colour": map[string]any{"type": "string", "title": "Colour", "enum": []string{"red", "green", "blue"}},
					"count":  map[string]any{"type": "integer", "title": "How many", "minimum": 1, "maximum": 10},
				},
				"required": []string{"colour"},
			},
		},
	}
}

func filledIn(a agent.Answer) string {
	switch a.Status {
	case agent.Accepted:
		var o struct {
			Content json.RawMessage `json:"content"`
		}
		var content bytes.Buffer
		if json.Unmarshal(a.Outcome, &o) != nil || json.Compact(&content, o.Content) != nil {
			return "You sent the form empty. "
		}
		return fmt.Sprintf("You filled in %s. ", quote(content.String()))
	case agent.Declined:
		return "You declined the form. "
	}
	return "The form was put away. "
}
