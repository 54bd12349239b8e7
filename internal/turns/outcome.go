package turns

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rejoin/rejoin/internal/runs"
)

// maxOutcome is the largest answer in bytes.
const maxOutcome = 256 << 10

// CheckOutcome says whether a question takes an answer; the error wraps ErrOptions and
// names what is allowed. A choice takes {"outcome":"selected","optionId":"…"} or
// {"outcome":"cancelled"}; a form takes {"action":"accept","content":{…}},
// {"action":"decline"} or {"action":"cancel"}; anything else takes any object.
func CheckOutcome(q runs.Question, outcome json.RawMessage) error {
	var o map[string]json.RawMessage
	switch {
	case len(outcome) > maxOutcome:
		return fmt.Errorf("%w: outcome has %d bytes; allowed are %d", ErrOptions, len(outcome), maxOutcome)
	case json.Unmarshal(outcome, &o) != nil || o == nil || !utf8.Valid(outcome):
		return fmt.Errorf("%w: outcome is missing or no JSON object", ErrOptions)
	case len(q.Options) > 0:
		return checkChoice(q.Options, o)
	case len(q.Value) > 0 && !q.Interrupt:
		return checkForm(q.Value, o)
	}
	return nil
}

func checkChoice(options []string, o map[string]json.RawMessage) error {
	switch word(o["outcome"]) {
	case "cancelled":
		return nil
	case "selected":
		if id := word(o["optionId"]); slices.Contains(options, id) {
			return nil
		}
	}
	return fmt.Errorf(`%w: outcome is {"outcome":"cancelled"} or {"outcome":"selected","optionId":…} with one of %s`,
		ErrOptions, quoted(options))
}

// checkForm looks at the form itself only as far as what it requires has to be there:
// whether a value is right is for the agent to say.
func checkForm(value json.RawMessage, o map[string]json.RawMessage) error {
	var form struct {
		Schema *struct {
			Required []string `json:"required"`
		} `json:"requestedSchema"`
	}
	_ = json.Unmarshal(value, &form) // what is no form is none, whatever else it is
	if form.Schema == nil {
		return nil
	}
	switch word(o["action"]) {
	case "decline", "cancel":
		return nil
	case "accept":
		var content map[string]json.RawMessage
		if json.Unmarshal(o["content"], &content) != nil || content == nil {
			return fmt.Errorf("%w: outcome.content is no JSON object, which an accepted form has", ErrOptions)
		}
		for _, name := range form.Schema.Required {
			if _, ok := content[name]; !ok {
				return fmt.Errorf("%w: outcome.content lacks %s, which the form requires", ErrOptions, quoted([]string{name}))
			}
		}
		return nil
	}
	return fmt.Errorf(`%w: outcome is {"action":"accept","content":{…}}, {"action":"decline"} or {"action":"cancel"}`, ErrOptions)
}

func word(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // what is no string is none of the words
	return s
}

// quoted lists a few outside strings.
func quoted(all []string) string {
	var b strings.Builder
	for i, s := range all[:min(len(all), 8)] {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%.40q", s)
	}
	return b.String()
}

// sameJSON says whether two JSON texts mean the same.
func sameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	decode := func(raw json.RawMessage) (v any, err error) {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		return v, d.Decode(&v)
	}
	x, errX := decode(a)
	y, errY := decode(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}
