package uimessages

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// How the names of a question's two CUSTOM events end.
const (
	requestSuffix  = ".request"
	resolvedSuffix = ".resolved"
)

// Limits of what is kept of a question.
const (
	maxID    = 256
	maxValue = 16 << 10
)

// question is one to people that is open.
type question struct {
	name  string
	part  string          // id of its data part
	value json.RawMessage // nil where it is too large to be kept
	tool  string          // id of the tool call that waits for it; "" where it is no approval
	own   bool            // that tool call stands for the question itself
}

// custom takes a CUSTOM event: a question, its answer, or the application's own.
func (m *Mapper) custom(e fields) {
	name, value := e.text("name"), fieldsOf(e["value"])
	if id := value.text("requestId"); id != "" && len(id) <= maxID {
		if of, ok := strings.CutSuffix(name, requestSuffix); ok && of != "" && m.ask(of, id, e["value"], value) {
			return
		}
		if q := m.questions[id]; q != nil && name == q.name+resolvedSuffix {
			m.resolve(q, id, e["value"], value)
			return
		}
	}
	o := chunk("data-" + name)
	if id := value.text("id"); id != "" {
		o.text("id", id)
	}
	m.send(o.raw("data", e["value"]))
}

// ask shows a question: as data, and, where it has options, as an approval. A client knows
// approvals only of tool calls: that of the question if it still waits, else one that stands for
// the question.
func (m *Mapper) ask(name, id string, raw json.RawMessage, value fields) bool {
	if m.questions[id] != nil || len(m.questions) == maxQuestions {
		return false
	}
	q := &question{name: name, part: value.text("messageId")}
	if q.part == "" {
		q.part = id
	}
	if len(raw) <= maxValue {
		q.value = slices.Clone(raw)
	}
	m.questions[id], m.asked = q, append(m.asked, id)
	m.send(chunk("data-"+name).text("id", q.part).raw("data", raw))
	if len(options(value)) == 0 {
		return true
	}
	q.tool = value.text("toolCallId")
	if t := m.tools[q.tool]; t != nil && !t.input && !t.output && !t.asked {
		t.asked = true
	} else {
		q.tool, q.own = id, true
		m.know(id, &tool{name: name, asked: true})
		m.inputAvailable(id, name, raw)
	}
	m.send(chunk("tool-approval-request").text("approvalId", id).text("toolCallId", q.tool))
	return true
}

// resolve shows how a question was decided.
func (m *Mapper) resolve(q *question, id string, raw json.RawMessage, value fields) {
	delete(m.questions, id)
	m.asked = slices.DeleteFunc(m.asked, func(a string) bool { return a == id })
	m.send(chunk("data-"+q.name).text("id", q.part).raw("data", merged(q.value, raw, value)))
	t := m.tools[q.tool]
	if q.tool == "" || t == nil || t.output {
		return
	}
	t.asked = false
	approved := "false"
	if allows(fieldsOf(q.value), fieldsOf(value["outcome"])) {
		approved = "true"
	}
	m.send(chunk("tool-approval-response").text("approvalId", id).raw("approved", []byte(approved)))
	if !q.own {
		return
	}
	t.output = true
	switch {
	case approved == "true":
		m.outputAvailable(q.tool, value["outcome"])
	case value.text("status") == "selected":
		m.send(chunk("tool-output-denied").text("toolCallId", q.tool))
	default:
		why := value.text("status")
		if why == "" {
			why = "closed"
		}
		m.send(chunk("tool-output-error").text("toolCallId", q.tool).text("errorText", why).yes("dynamic").yes("providerExecuted"))
	}
}

// merged is a question's value with what is known since.
func merged(asked, raw json.RawMessage, value fields) []byte {
	all := fieldsOf(asked)
	if all == nil {
		return raw
	}
	maps.Copy(all, value)
	b, err := json.Marshal(all)
	if err != nil {
		return raw
	}
	return b
}

func options(value fields) []json.RawMessage {
	var all []json.RawMessage
	if raw := value["options"]; len(raw) > 0 && raw[0] == '[' {
		_ = json.Unmarshal(raw, &all) // what is none has none
	}
	return all
}

// allows says whether an outcome chooses an option that allows something: by the option's kind
// where it has one, else by its id.
func allows(value, outcome fields) bool {
	chosen := outcome.text("optionId")
	if outcome.text("outcome") != "selected" || chosen == "" {
		return false
	}
	says := chosen
	for _, raw := range options(value) {
		if o := fieldsOf(raw); o.text("optionId") == chosen && o.text("kind") != "" {
			says = o.text("kind")
		}
	}
	says = strings.ToLower(says)
	return slices.ContainsFunc([]string{"allow", "approve", "accept", "yes", "ok"}, func(word string) bool { return strings.HasPrefix(says, word) })
}
