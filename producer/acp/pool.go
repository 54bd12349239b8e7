package acp

import (
	"context"
	"fmt"
	"time"

	"github.com/rejoin/rejoin/producer/agent"
)

// maxChats is how many chats are kept in mind: what their session was, so that an agent
// that can load sessions knows the chat again.
const maxChats = 10_000

// chat is what is known of one chat. Its fields are the Agent's, under its lock.
type chat struct {
	key  string
	turn chan struct{} // holds one while a turn uses the chat

	users   int    // turns that use it or wait for it
	used    uint64 // Agent.uses when it was last used
	session string // of the last process; "" for none
	conn    *conn  // nil for none
	idle    bool   // conn waits for a turn
	rests   int    // how often it has begun to
	timer   *time.Timer
}

// chat finds a turn's chat, or makes it. The caller has to forget it.
func (a *Agent) chat(r *agent.Request) *chat {
	key := string(r.Realm) + "\x00" + r.ChatID
	a.mu.Lock()
	defer a.mu.Unlock()
	ch := a.chats[key]
	if ch == nil {
		a.makeRoomForChat()
		ch = &chat{key: key, turn: make(chan struct{}, 1)}
		a.chats[key] = ch
	}
	a.uses++
	ch.users, ch.used = ch.users+1, a.uses
	return ch
}

// makeRoomForChat drops the chat that was used longest ago, of those with no process.
func (a *Agent) makeRoomForChat() {
	if len(a.chats) < maxChats {
		return
	}
	var oldest *chat
	for _, ch := range a.chats {
		if ch.users == 0 && ch.conn == nil && (oldest == nil || ch.used < oldest.used) {
			oldest = ch
		}
	}
	if oldest != nil {
		delete(a.chats, oldest.key)
	}
}

func (a *Agent) forget(ch *chat) {
	a.mu.Lock()
	defer a.mu.Unlock()
	ch.users--
	if ch.users == 0 && ch.conn == nil && ch.session == "" {
		delete(a.chats, ch.key)
	}
}

// lock waits until no other turn uses the chat. The one that does is over already for
// whoever watches it, and gets no longer than patience: then its process is killed.
func (ch *chat) lock(ctx context.Context, patience time.Duration, kill func(*chat, error)) error {
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		select {
		case ch.turn <- struct{}{}:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late.C:
			kill(ch, ErrReplaced)
			late.Reset(patience)
		}
	}
}

func (ch *chat) unlock() { <-ch.turn }

// kill ends the process that a chat uses, at once.
func (a *Agent) kill(ch *chat, why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ch.conn != nil {
		ch.conn.kill(why)
	}
}

// connFor gives the chat's process: the one it has, or a new one that knows the chat's
// session. The caller holds the chat's lock and has to release the process.
func (a *Agent) connFor(ctx context.Context, ch *chat) (*conn, error) {
	c, err := a.warm(ctx, ch)
	if c != nil || err != nil {
		return c, err
	}
	c, err = start(&a.cfg, a.root)
	a.mu.Lock()
	a.starting--
	if err != nil {
		a.freed()
		a.mu.Unlock()
		return nil, fmt.Errorf("%w: %w", ErrStart, err)
	}
	ch.conn = c
	a.conns[c] = struct{}{}
	a.mu.Unlock()
	a.work.Go(func() { a.serve(c) })

	if err := c.ready(ctx, ch.session); err != nil {
		if ctx.Err() == nil {
			a.mu.Lock()
			ch.session = "" // the next turn begins anew, rather than fail the same way
			a.mu.Unlock()
		}
		c.close()
		a.release(ch, c)
		return nil, err
	}
	return c, nil
}

// warm takes the chat's process out of idleness. It gives nil when one may be started,
// which is counted already.
func (a *Agent) warm(ctx context.Context, ch *chat) (*conn, error) {
	for {
		c, wait, err := a.take(ch)
		if c != nil || wait == nil {
			return c, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// take is one try of warm. It may say what to wait for before the next.
func (a *Agent) take(ch *chat) (c *conn, wait <-chan struct{}, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, nil, ErrClosed
	}
	if ch.idle {
		ch.idle = false
		ch.timer.Stop()
		if ch.conn.fresh() {
			return ch.conn, nil, nil
		}
		ch.conn.close()
		ch.conn = nil
	}
	if len(a.conns)+a.starting < a.cfg.MaxProcesses {
		a.starting++
		return nil, nil, nil
	}
	if !a.makeRoom() {
		return nil, nil, fmt.Errorf("%w: %d may run at once", ErrBusy, a.cfg.MaxProcesses)
	}
	return nil, a.ended, nil
}

// serve runs a process to its end.
func (a *Agent) serve(c *conn) {
	c.serve()
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.conns, c)
	a.freed()
}

// freed tells who waits for room. The Agent is locked.
func (a *Agent) freed() {
	close(a.ended)
	a.ended = make(chan struct{})
}

// makeRoom ends the process that has been idle for longest, unless one is ending
// already. It reports whether there will be room.
func (a *Agent) makeRoom() bool {
	for c := range a.conns {
		if !c.alive() {
			return true
		}
	}
	var oldest *chat
	for _, ch := range a.chats {
		if ch.idle && (oldest == nil || ch.used < oldest.used) {
			oldest = ch
		}
	}
	if oldest == nil {
		return false
	}
	oldest.drop()
	return true
}

// drop ends the process of an idle chat. The Agent is locked.
func (ch *chat) drop() {
	ch.timer.Stop()
	ch.conn.close()
	ch.conn, ch.idle = nil, false
}

// release gives a chat's process back after a turn. It waits for the next one, if it can.
func (a *Agent) release(ch *chat, c *conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if id := c.sessionID(); id != "" {
		ch.session = id
	}
	if a.closed || !c.usable() {
		c.close()
		ch.conn = nil
		return
	}
	a.uses++
	ch.rests++
	ch.idle, ch.used = true, a.uses
	rest := ch.rests
	ch.timer = time.AfterFunc(a.cfg.IdleLimit, func() { a.expire(ch, rest) })
}

// expire ends the process of a chat that has been idle for too long, if it still is.
func (a *Agent) expire(ch *chat, rest int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ch.idle && ch.rests == rest {
		ch.drop()
	}
}
