package agui

import (
	"bytes"
	"encoding/json"
)

// State is the state of a chat, as its turns make it one after the other: what a client
// would send along with the next one. The zero value is that of a chat without turns,
// {}. It does what a client does; a patch that fits nowhere changes nothing. It holds
// what it is given and is not safe for concurrent use.
type State struct {
	raw    []byte // as written; nil once a patch has changed it
	doc    any    // what raw says, as soon as it is needed
	copied int    // bytes that patches have multiplied
}

// AddTurn adds a turn: its input, whose state a client has made of the turns before and
// so takes their place, and its events as NDJSON, folded or not. On an error the events
// before the offending line are in.
func (s *State) AddTurn(input json.RawMessage, ndjson []byte) error {
	if isObject(input) {
		s.set(member(input, "state"))
	}
	var e Event
	for line := range Lines(ndjson) {
		if err := Scan(line, &e); err != nil {
			return err
		}
		switch e.Type {
		case StateSnapshot:
			s.set(e.field("snapshot"))
		case StateDelta:
			s.patch(e.field("delta"))
		}
	}
	return nil
}

// JSON is the state, on one line.
func (s *State) JSON() json.RawMessage {
	switch {
	case s.raw != nil:
		return OneLine(s.raw)
	case s.doc == nil:
		return json.RawMessage("{}")
	}
	return encode(s.doc)
}

func (s *State) set(raw []byte) {
	if raw != nil && !same(raw, "null") {
		s.raw, s.doc = bytes.Clone(raw), nil
	}
}

func (s *State) patch(raw []byte) {
	doc := s.doc
	if s.raw != nil {
		doc = parseJSON(s.raw)
	} else if doc == nil {
		doc = map[string]any{}
	}
	p := patcher{room: maxCopied - s.copied}
	if doc, ok := p.apply(doc, raw); ok {
		s.raw, s.doc, s.copied = nil, doc, maxCopied-p.room
	}
}

// parseJSON decodes valid JSON and leaves numbers as they are written.
func parseJSON(raw []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	_ = d.Decode(&v) // it was looked at before
	return v
}
