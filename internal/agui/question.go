package agui

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Limits of what is kept of an event after it has passed.
const (
	MaxID   = 256      // bytes of an id that somebody has to name again
	MaxKept = 16 << 10 // bytes of a question's value, or of an interrupt

	maxName    = 64   // bytes of a question's name
	maxWords   = 1024 // bytes of a title, a reason or a message
	maxOptions = 128
)

// How the names of a question's two CUSTOM events end.
const (
	requestSuffix  = ".request"
	resolvedSuffix = ".resolved"
)

// StatusPending is the status of a question that has no answer yet.
const StatusPending = "pending"

// Question is something that a run asks people, as its events tell it.
type Question struct {
	Name      string          // without .request
	RequestID string          // what an answer names; MaxID bytes at most
	MessageID string          // of its ACTIVITY_SNAPSHOT; "" where it has none
	Value     json.RawMessage // an object: what was asked
	Options   []string        // ids to choose from; nil where any object is an answer
}

// RequestEvents are the events that ask q: CUSTOM <name>.request and, where q has a
// message, its ACTIVITY_SNAPSHOT. Members of the value that are named requestId,
// messageId or status give way. A value that is not an object counts as {}.
func RequestEvents(q Question) [][]byte {
	var b object
	b.copy(q.Value, "requestId", "messageId", "status")
	b.text("requestId", q.RequestID)
	if q.MessageID != "" {
		b.text("messageId", q.MessageID)
	}
	b.text("status", StatusPending)
	return q.events(requestSuffix, b.bytes(), b.bytes())
}

// ResolvedEvents are the events that close q: CUSTOM <name>.resolved and, where q has
// a message, an ACTIVITY_SNAPSHOT that takes the place of the first. outcome may be nil
// and reason "". An outcome that is not an object is left out.
func ResolvedEvents(q Question, status string, outcome json.RawMessage, reason string) [][]byte {
	resolve := func(b *object) []byte {
		b.text("status", status)
		if isObject(outcome) {
			b.raw("outcome", outcome)
		}
		if reason != "" {
			b.text("reason", reason)
		}
		return b.bytes()
	}
	var custom, content object
	custom.text("requestId", q.RequestID)
	content.copy(q.Value, "requestId", "messageId", "status", "outcome", "reason")
	content.text("requestId", q.RequestID)
	content.text("messageId", q.MessageID)
	return q.events(resolvedSuffix, resolve(&custom), resolve(&content))
}

func (q *Question) events(suffix string, value, content json.RawMessage) [][]byte {
	events := [][]byte{encode(struct {
		Type  Type            `json:"type"`
		Name  string          `json:"name"`
		Value json.RawMessage `json:"value"`
	}{Custom, q.Name + suffix, value})}
	if q.MessageID == "" {
		return events
	}
	return append(events, encode(struct {
		Type         Type            `json:"type"`
		MessageID    string          `json:"messageId"`
		ActivityType string          `json:"activityType"`
		Content      json.RawMessage `json:"content"`
		Replace      bool            `json:"replace"`
	}{ActivitySnapshot, q.MessageID, q.Name, content, true}))
}

// Small is q as it is kept while it is open: a value larger than MaxKept is cut down
// to its title, and options that take more room than that are not kept.
func (q Question) Small() Question {
	if len(q.Value) > MaxKept {
		var b object
		if title := words(q.Value, "title"); title != "" {
			b.text("title", title)
		}
		q.Value = b.bytes()
	}
	if !fewOptions(q.Options) {
		q.Options = nil
	}
	return q
}

func fewOptions(options []string) bool {
	size := 0
	for _, o := range options {
		size += len(o)
	}
	return len(options) <= maxOptions && size <= MaxKept
}

// Asked recognises the event that asks a question, of whatever producer: a CUSTOM
// whose name ends in .request and whose value has a requestId that people can send
// back: at most MaxID bytes that are text. The options are value.options: strings, or
// objects with an optionId. Where there are too many or one has no id, any object is
// an answer. The question keeps nothing of the event.
func Asked(e *Event) (Question, bool) {
	name, value, ok := custom(e, requestSuffix)
	if !ok {
		return Question{}, false
	}
	q := Question{
		Name:      name,
		RequestID: ident(value, "requestId"),
		MessageID: ident(value, "messageId"),
		Value:     bytes.Clone(value),
	}
	if q.RequestID == "" {
		return Question{}, false
	}
	for o := range elements(member(value, "options")) {
		id := ident(o, "optionId")
		if b, ok := inside(o); ok {
			id = decode(b)
		}
		if q.Options = append(q.Options, id); id == "" || !fewOptions(q.Options) {
			q.Options = nil
			break
		}
	}
	return q, true
}

// Resolved recognises the event that closes a question, of whatever producer: a CUSTOM
// whose name ends in .resolved and whose value has a requestId. status is "" where it
// does not say.
func Resolved(e *Event) (requestID, status string, ok bool) {
	_, value, ok := custom(e, resolvedSuffix)
	if !ok {
		return "", "", false
	}
	requestID = ident(value, "requestId")
	return requestID, ident(value, "status"), requestID != ""
}

// custom returns the value of a CUSTOM whose name has the suffix, and what is before it.
func custom(e *Event, suffix string) (name string, value []byte, ok bool) {
	if e.Type != Custom {
		return "", nil, false
	}
	body, _ := e.text("name")
	if len(body) > 6*(maxName+len(resolvedSuffix)) { // as escapes
		return "", nil, false
	}
	name, ok = strings.CutSuffix(decode(body), suffix)
	if !ok || name == "" || len(name) > maxName || !utf8.ValidString(name) {
		return "", nil, false
	}
	return name, e.field("value"), true
}

// ident returns a member that is a string of at most MaxID bytes and of whole
// characters, otherwise "".
func ident(object []byte, key string) string {
	body, _ := inside(member(object, key))
	if len(body) > 6*MaxID {
		return ""
	}
	if s := decode(body); len(s) <= MaxID && utf8.ValidString(s) {
		return s
	}
	return ""
}

// words returns the beginning of a member that is a string, otherwise "".
func words(object []byte, key string) string {
	body, _ := inside(member(object, key))
	s := decode(body)
	if len(s) > maxWords {
		s = s[:maxWords]
		for len(s) > 0 && !utf8.RuneStart(s[len(s)-1]) { // the last character may be cut
			s = s[:len(s)-1]
		}
		s = s[:max(len(s)-1, 0)]
	}
	return toValid(s)
}
