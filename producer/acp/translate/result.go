package translate

import (
	"encoding/json"
	"strings"
)

// outcome is what a finished call has to say: the text of its content, else its output,
// else its content as it is, else its status.
func outcome(r *record) string {
	content := r.values["content"]
	if s := textOf(content); s != "" {
		return s
	}
	if out := r.values["rawOutput"]; isString(out) {
		return plain(out)
	} else if !isNull(out) {
		return string(out)
	}
	if !isNull(content) && string(content) != "[]" {
		return string(content)
	}
	return plain(r.values["status"])
}

// textOf is the text of a call's content blocks, "" when there is none.
func textOf(content json.RawMessage) string {
	var items []struct {
		Type    string
		Content struct {
			Type, Text string
			Resource   struct{ Text string }
		}
	}
	if json.Unmarshal(content, &items) != nil {
		return "" // it stays in the record as it is
	}
	var all []string
	for _, item := range items {
		if item.Type != "content" {
			continue
		}
		switch item.Content.Type {
		case "text":
			all = append(all, item.Content.Text)
		case "resource":
			all = append(all, item.Content.Resource.Text)
		}
	}
	return strings.Join(all, "\n")
}
