package translate

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// maxResult is how many bytes a call has to say at most. As JSON that may be twice as much.
const maxResult = 4 << 20

// outcome is what a finished call has to say: the text of its content, else its output,
// else its content as it is, else its status. Its record has all of them.
func outcome(r *record) string { return cut(said(r), maxResult) }

func said(r *record) string {
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

// cut is the beginning of s, of up to n bytes and of whole characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
