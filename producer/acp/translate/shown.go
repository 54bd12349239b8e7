package translate

import (
	"encoding/json"
	"slices"
)

// maxShown is how many bytes of a record are shown. It leaves an event room for the rest.
const maxShown = 12 << 20

// maxOmitted is how many fields are left out one by one. Records have ten, two of them
// large; one that has so many more is none that anybody reads.
const maxOmitted = 8

// shown is a record as its activity has it: with what its terminals print, and without
// what makes it too large for an event, which is named in "omitted".
func (t *Translator) shown(r *record) *record {
	if content := t.terminals(r.values["content"]); content != nil {
		r = r.without()
		r.set("content", content)
	}
	var omitted []string
	for r.size > maxShown {
		if len(omitted) == maxOmitted {
			return r.essence()
		}
		largest := slices.MaxFunc(r.keys, func(a, b string) int { return len(r.values[a]) - len(r.values[b]) })
		omitted = append(omitted, cut(largest, maxToolName))
		r = r.without(largest)
		names, _ := json.Marshal(omitted) // strings always have a form
		r.set("omitted", names)
	}
	return r
}

// terminals is a call's content with the end of what its terminals have printed, nil
// where there is nothing to add.
func (t *Translator) terminals(content json.RawMessage) json.RawMessage {
	var items []json.RawMessage
	if t.cfg.Terminal == nil || json.Unmarshal(content, &items) != nil {
		return nil
	}
	added := false
	for i, raw := range items {
		item, err := parseObject(raw)
		if err != nil || plain(item.values["type"]) != "terminal" {
			continue
		}
		if printed := t.cfg.Terminal(plain(item.values["terminalId"])); printed != nil {
			item.set("terminal", printed)
			items[i], added = item.json(), true
		}
	}
	if !added {
		return nil
	}
	out := []byte{'['}
	for i, item := range items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, item...)
	}
	return append(out, ']')
}
