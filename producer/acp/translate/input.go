package translate

import (
	"encoding/json"

	"github.com/rejoin/rejoin/internal/agui"
)

// input is what RUN_STARTED says of the turn's input: whose run it is, and the message
// that asked for it. The rest of a RunAgentInput is for the agent alone.
func (t *Translator) input() (json.RawMessage, error) {
	in, _, err := parse("input", t.cfg.Input)
	if err != nil {
		return nil, err
	}
	message, err := t.userMessage(in)
	if err != nil {
		return nil, err
	}
	out := &record{}
	out.set("threadId", quote(t.cfg.ChatID))
	out.set("runId", quote(t.cfg.RunID))
	out.set("messages", agui.AppendArray(nil, message))
	out.set("tools", json.RawMessage("[]"))
	out.set("context", json.RawMessage("[]"))
	return out.json(), nil
}

// userMessage is the last message of the user, nil when the input has none.
func (t *Translator) userMessage(in *record) ([]byte, error) {
	id := quote(agui.UserMessageID(t.cfg.RunID))
	if said := in.values["text"]; isString(said) && in.values["messages"] == nil {
		m := &record{}
		m.set("id", id)
		m.set("role", json.RawMessage(`"user"`))
		m.set("content", said)
		return m.json(), nil
	}
	var all []json.RawMessage
	if raw := in.values["messages"]; !isNull(raw) && json.Unmarshal(raw, &all) != nil {
		return nil, malformed("input", `its "messages" have to be an array`)
	}
	for i := len(all) - 1; i >= 0; i-- {
		m, err := parseObject(all[i])
		if err != nil || plain(m.values["role"]) != "user" {
			continue
		}
		if plain(m.values["id"]) == "" {
			m.set("id", id)
		}
		return m.json(), nil
	}
	return nil, nil
}
