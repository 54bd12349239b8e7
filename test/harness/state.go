package harness

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
)

// State is what an AG-UI client makes of a run's events. It is a reference: it knows
// nothing of the code under test, decodes with encoding/json, and takes a delta
// without its start for the fault that it is. The zero value is the state before the
// first event.
type State struct {
	Order   []string            // messages, tool calls, reasoning and activities by first appearance
	Text    map[string][]uint16 // what each of them says
	Closed  map[string]bool     // those that have had their END
	Status  map[string]string   // of each activity, and of each prompt by its request id
	Others  []string            // every other event, in order
	Unknown []string            // what came for a thing that was never opened
}

// Reduce applies events, one a line, to the state before the first event.
func Reduce(ndjson []byte) *State {
	s := &State{}
	s.Apply(ndjson)
	return s
}

// fields are those that the reference looks at.
type fields struct {
	Type, MessageID, ToolCallID, Name, Role string
	Delta                                   json.RawMessage
	Value, Content                          struct {
		RequestID string `json:"requestId"`
		Status    string
	}
}

func (f *fields) UnmarshalJSON(raw []byte) error {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	for key, to := range map[string]*string{"type": &f.Type, "messageId": &f.MessageID, "toolCallId": &f.ToolCallID, "name": &f.Name} {
		_ = json.Unmarshal(m[key], to) // what is no string is left empty
	}
	_ = json.Unmarshal(m["value"], &f.Value)
	_ = json.Unmarshal(m["content"], &f.Content)
	f.Delta = m["delta"]
	return nil
}

// Apply takes further events, one a line.
func (s *State) Apply(ndjson []byte) {
	if s.Text == nil {
		s.Text, s.Closed, s.Status = map[string][]uint16{}, map[string]bool{}, map[string]string{}
	}
	for line := range strings.SplitSeq(string(ndjson), "\n") {
		if line == "" {
			continue
		}
		var f fields
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			panic(fmt.Sprintf("%v in %q", err, line))
		}
		s.apply(&f, line)
	}
}

func (s *State) apply(f *fields, line string) {
	switch f.Type {
	case "TEXT_MESSAGE_START":
		s.open("text " + f.MessageID)
	case "REASONING_MESSAGE_START":
		s.open("reasoning " + f.MessageID)
	case "TOOL_CALL_START":
		s.open("tool " + f.ToolCallID)
	case "TEXT_MESSAGE_CONTENT":
		s.say("text "+f.MessageID, f.Delta)
	case "REASONING_MESSAGE_CONTENT":
		s.say("reasoning "+f.MessageID, f.Delta)
	case "TOOL_CALL_ARGS":
		s.say("tool "+f.ToolCallID, f.Delta)
	case "TEXT_MESSAGE_END":
		s.close("text " + f.MessageID)
	case "REASONING_MESSAGE_END":
		s.close("reasoning " + f.MessageID)
	case "TOOL_CALL_END":
		s.close("tool " + f.ToolCallID)
	case "ACTIVITY_SNAPSHOT":
		who := "activity " + f.MessageID
		if !slices.Contains(s.Order, who) {
			s.Order = append(s.Order, who)
		}
		s.Status[who] = f.Content.Status
	case "CUSTOM":
		if strings.HasSuffix(f.Name, ".request") || strings.HasSuffix(f.Name, ".resolved") {
			s.Status["prompt "+f.Value.RequestID] = f.Value.Status
		}
		s.Others = append(s.Others, line)
	default:
		s.Others = append(s.Others, line)
	}
}

func (s *State) open(who string) {
	if slices.Contains(s.Order, who) {
		s.Unknown = append(s.Unknown, who+" opened twice")
	}
	s.Order = append(s.Order, who)
	s.Text[who] = nil
}

func (s *State) say(who string, delta json.RawMessage) {
	if !slices.Contains(s.Order, who) || s.Closed[who] {
		s.Unknown = append(s.Unknown, who+" is not open")
	}
	s.Text[who] = append(s.Text[who], units(delta)...)
}

func (s *State) close(who string) {
	if !slices.Contains(s.Order, who) || s.Closed[who] {
		s.Unknown = append(s.Unknown, who+" is not open")
	}
	s.Closed[who] = true
}

// Pending lists what waits for an answer.
func (s *State) Pending() (all []string) {
	for who, status := range s.Status {
		if status == "pending" {
			all = append(all, who)
		}
	}
	slices.Sort(all)
	return all
}

// units are the UTF-16 code units of a JSON string, halves of surrogate pairs
// included: a browser puts those together, encoding/json replaces them.
func units(raw json.RawMessage) (out []uint16) {
	body := strings.TrimSuffix(strings.TrimPrefix(string(raw), `"`), `"`)
	for len(body) > 0 {
		if strings.HasPrefix(body, `\u`) {
			var n uint16
			if _, err := fmt.Sscanf(body[2:6], "%04x", &n); err != nil {
				panic(fmt.Sprintf("%v in %q", err, body))
			}
			out, body = append(out, n), body[6:]
			continue
		}
		n := strings.Index(body[1:], `\u`) + 1
		if n == 0 {
			n = len(body)
		}
		// A backslash that is itself escaped is no part of the next escape.
		for n < len(body) && strings.HasSuffix(body[:n], `\`) && trailing(body[:n])%2 == 1 {
			n += 2
		}
		n = min(n, len(body))
		var s string
		if err := json.Unmarshal([]byte(`"`+body[:n]+`"`), &s); err != nil {
			panic(fmt.Sprintf("%v in %q", err, body[:n]))
		}
		out, body = append(out, utf16.Encode([]rune(s))...), body[n:]
	}
	return out
}

func trailing(s string) int { return len(s) - len(strings.TrimRight(s, `\`)) }
