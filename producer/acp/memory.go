package acp

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/rejoin/rejoin/producer/agent"
)

// memory is what is kept of a chat for workers that come later, and for this one when
// another has answered in between.
type memory struct {
	Session string `json:"session"`
	Holder  string `json:"holder"` // the Agent whose process had the session last
}

// memoryTimeout bounds how long a turn waits to recall or to remember: without it the
// agent knows less, and goes on.
const memoryTimeout = 5 * time.Second

// recall says which session the chat had last, if that was another Agent's: then a
// process that waits for the chat has not heard what was said since.
func (a *Agent) recall(ctx context.Context, t agent.Turn, ch *chat) {
	m, ok := t.(agent.Memory)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, memoryTimeout)
	defer cancel()
	value, err := m.Recall(ctx)
	var known memory
	if err == nil && len(value) > 0 {
		err = json.Unmarshal(value, &known)
	}
	if err != nil {
		a.cfg.Logger.Warn("it is not known which session the chat had last", "run", t.Request().RunID, "error", err)
		return
	}
	if known.Session == "" || known.Holder == a.id {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if ch.idle {
		if caps := &ch.conn.caps; !caps.Load && !caps.resumes() {
			return // half of the chat is more than nothing of it
		}
		ch.drop()
	}
	ch.session = known.Session
}

// remember keeps which session the chat has.
func (a *Agent) remember(ctx context.Context, t agent.Turn, session string, log *slog.Logger) {
	m, ok := t.(agent.Memory)
	if !ok || session == "" {
		return
	}
	value, err := json.Marshal(memory{Session: session, Holder: a.id})
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, memoryTimeout)
		defer cancel()
		err = m.Remember(ctx, value)
	}
	if err != nil {
		log.Warn("another worker will not know the chat's session", "run", t.Request().RunID, "error", err)
	}
}
