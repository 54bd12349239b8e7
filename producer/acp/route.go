package acp

import (
	"encoding/json"
	"errors"

	"github.com/rejoin/rejoin/producer/acp/rpc"
	"github.com/rejoin/rejoin/producer/acp/translate"
)

// maxKept is how many bytes of updates may wait for a session's first turn.
const maxKept = 4 << 20

// update is one session/update.
type update struct {
	Session string          `json:"sessionId"`
	Update  json.RawMessage `json:"update"`
}

// Notify takes a notification of the agent. There is one that matters; the others,
// such as $/cancel_request, are ignored, as the protocol allows.
func (c *conn) Notify(method string, params json.RawMessage) {
	if method != "session/update" {
		return
	}
	var u update
	if err := json.Unmarshal(params, &u); err != nil || len(u.Update) == 0 {
		c.dropped.Add(1)
		return
	}
	t, kept := c.turnFor(u)
	if kept || t != nil && t.update(u.Update) {
		return
	}
	if n := c.dropped.Add(1); n <= maxNotes {
		c.log.Debug("an update that belongs to no turn was dropped", "so_far", n)
	}
}

// turnFor gives the turn an update belongs to, or keeps the update for the first turn.
func (c *conn) turnFor(u update) (t *turn, kept bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.turn != nil && u.Session == c.session:
		return c.turn, false
	case c.turn == nil && c.keeping && c.size+len(u.Update) <= maxKept:
		c.kept = append(c.kept, u)
		c.size += len(u.Update)
		return nil, true
	}
	return nil, false
}

// begin gives the session to a turn, and the turn what was kept for it.
func (c *conn) begin(t *turn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, u := range c.kept {
		if u.Session == c.session {
			t.update(u.Update)
		}
	}
	c.turn, c.keeping, c.kept, c.size = t, false, nil, 0
}

// finish takes the session from its turn.
func (c *conn) finish() {
	c.mu.Lock()
	c.turn = nil
	c.mu.Unlock()
}

// Request takes a request of the agent.
func (c *conn) Request(method string, params json.RawMessage, reply rpc.Reply) {
	var p struct {
		Session string `json:"sessionId"`
	}
	_ = json.Unmarshal(params, &p) // whoever serves the method says what is wrong
	c.mu.Lock()
	t, session := c.turn, c.session
	c.mu.Unlock()
	if p.Session != "" && session != "" && p.Session != session {
		reply(nil, rpc.Errorf(rpc.CodeInvalidParams, "there is no such session"))
		return
	}
	switch method {
	case "session/request_permission":
		t.ask(permission, params, reply)
	case "elicitation/create":
		t.ask(elicitation, params, reply)
	default:
		c.serveFile(method, params, reply)
	}
}

// serveFile takes a request for a file or a terminal.
func (c *conn) serveFile(method string, params json.RawMessage, reply rpc.Reply) {
	if c.files != nil && c.files.serve(method, params, reply) || c.terminals != nil && c.terminals.serve(method, params, reply) {
		return
	}
	reply(nil, rpc.Errorf(rpc.CodeMethodNotFound, "there is no method %.100q", method))
}

// malformed reports whether an error is the agent's own fault.
func malformed(err error) bool { return errors.Is(err, translate.ErrMalformed) }
