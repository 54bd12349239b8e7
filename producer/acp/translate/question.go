package translate

import (
	"encoding/json"
	"net/url"
)

// The names of what agents ask.
const (
	Permission  = "acp.permission"
	Elicitation = "acp.elicitation"
)

// Question reads the params of session/request_permission (name Permission) or
// elicitation/create (name Elicitation) and gives what agent.Question wants: what people
// need to know, and the ids of the options they may choose from, nil for a form.
//
// The call a permission is asked for is merged and reported first, with its input, which
// is final now. The session's id is left out, it is no business of a page.
func (t *Translator) Question(name string, params json.RawMessage) (value map[string]any, options []string, err error) {
	if t.ended {
		return nil, nil, ErrEnded
	}
	p, _, err := parse(name, params)
	if err != nil {
		return nil, nil, err
	}
	switch name {
	case Permission:
		value, options, err = t.permission(p)
	case Elicitation:
		value, err = t.elicitation(p)
	default:
		err = malformed("question", "%q is not known; allowed are %s and %s", name, Permission, Elicitation)
	}
	if err != nil {
		return nil, nil, err
	}
	return value, options, t.sent()
}

func (t *Translator) permission(p *record) (map[string]any, []string, error) {
	options, err := optionIDs(p.values["options"])
	if err != nil {
		return nil, nil, err
	}
	u, err := parseObject(p.values["toolCall"])
	if err != nil {
		return nil, nil, malformed(Permission, `its "toolCall" has to be an object`)
	}
	c, err := t.toolCall(Permission+" toolCall", u)
	if err != nil {
		return nil, nil, err
	}
	t.closeMessage()
	t.finalInput(c)
	value := valueOf(p.without("sessionId"))
	value["toolCall"] = c.record.json()
	value["toolCallId"] = c.id
	return value, options, nil
}

func optionIDs(raw json.RawMessage) (ids []string, err error) {
	var all []struct {
		OptionID json.RawMessage `json:"optionId"`
	}
	if json.Unmarshal(raw, &all) != nil || len(all) == 0 {
		return nil, malformed(Permission, `its "options" have to be an array of objects, at least one`)
	}
	for i, o := range all {
		id := plain(o.OptionID)
		if id == "" {
			return nil, malformed(Permission, `the "optionId" of option %d has to be a non-empty string`, i)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// elicitation keeps forms as they are. Of a page to visit only the host is told: its
// address may hold what only the one who visits it may know.
func (t *Translator) elicitation(p *record) (map[string]any, error) {
	if !isString(p.values["message"]) {
		return nil, malformed(Elicitation, `its "message" has to be a string`)
	}
	value := valueOf(p.without("sessionId", "toolCallId"))
	switch mode := plain(p.values["mode"]); mode {
	case "form":
		if _, err := parseObject(p.values["requestedSchema"]); err != nil {
			return nil, malformed(Elicitation, `its "requestedSchema" has to be an object`)
		}
	case "url":
		at, err := url.Parse(plain(p.values["url"]))
		if err != nil || at.Host == "" {
			return nil, malformed(Elicitation, `its "url" has to be an address with a host`)
		}
		value = map[string]any{
			"mode": mode, "message": p.values["message"], "host": at.Host,
			"elicitationId": plain(p.values["elicitationId"]),
		}
	default:
		return nil, malformed(Elicitation, "its mode is %.64q; allowed are form and url", mode)
	}
	if c := t.byID[plain(p.values["toolCallId"])]; c != nil {
		value["toolCallId"] = c.id
	}
	t.closeMessage()
	return value, nil
}

func valueOf(r *record) map[string]any {
	value := make(map[string]any, len(r.keys))
	for _, key := range r.keys {
		value[key] = r.values[key]
	}
	return value
}
