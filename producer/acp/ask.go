package acp

import (
	"encoding/json"
	"sync"

	"github.com/rejoin/rejoin/producer/acp/process"
	"github.com/rejoin/rejoin/producer/acp/rpc"
	"github.com/rejoin/rejoin/producer/acp/translate"
	"github.com/rejoin/rejoin/producer/agent"
)

// kind is a kind of question: its name, what an answer is to the agent, and what it gets
// when there will be none.
type kind struct {
	name   string
	result func(agent.Answer) object
	none   object
}

var permission = kind{
	name: translate.Permission,
	none: object{"outcome": object{"outcome": "cancelled"}},
	result: func(a agent.Answer) object {
		var o struct {
			OptionID string `json:"optionId"`
		}
		if a.Status != agent.Selected || json.Unmarshal(a.Outcome, &o) != nil || o.OptionID == "" {
			return nil
		}
		return object{"outcome": object{"outcome": "selected", "optionId": o.OptionID}}
	},
}

var elicitation = kind{
	name: translate.Elicitation,
	none: object{"action": "cancel"},
	result: func(a agent.Answer) object {
		var o struct {
			Content json.RawMessage `json:"content"`
		}
		switch a.Status {
		case agent.Declined:
			return object{"action": "decline"}
		case agent.Accepted:
			if json.Unmarshal(a.Outcome, &o) != nil || len(o.Content) == 0 || o.Content[0] != '{' {
				return object{"action": "accept"}
			}
			return object{"action": "accept", "content": o.Content}
		}
		return nil
	},
}

// ask puts a question of the agent before people. It returns when the question has its
// place among the events; the reply follows when it is answered. A turn that is over, or nil, asks nobody.
func (t *turn) ask(k kind, params json.RawMessage, reply rpc.Reply) {
	if t == nil {
		reply(k.none, nil)
		return
	}
	t.mu.Lock()
	if t.sealed || t.asking.Err() != nil {
		t.mu.Unlock()
		reply(k.none, nil)
		return
	}
	value, options, err := t.tr.Question(k.name, params)
	if err != nil {
		t.mu.Unlock()
		if malformed(err) {
			err = rpc.Errorf(rpc.CodeInvalidParams, "%s", process.Clean([]byte(err.Error()), maxQuote))
		}
		reply(nil, err)
		return
	}
	t.asks.Add(1) // before the turn can be sealed
	t.mu.Unlock()
	var once sync.Once
	placed := make(chan struct{})
	place := func() { once.Do(func() { close(placed) }) }
	go func() {
		defer t.asks.Done()
		a, err := t.Ask(t.asking, agent.Question{Name: k.name, Value: value, Options: options, Asked: place})
		place()
		result := k.none
		if err == nil {
			if r := k.result(a); r != nil {
				result = r
			}
		}
		reply(result, nil)
	}()
	<-placed // what the agent says next comes after its question
}
