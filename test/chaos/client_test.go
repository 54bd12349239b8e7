package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// client does one thing after another.
type client struct {
	*model
	*rand.Rand
	n   int
	ctx context.Context // of those who watch
}

func (c *client) upTo(d time.Duration) time.Duration { return time.Duration(c.Int64N(int64(d))) }
func (c *client) relay() int                         { return c.IntN(2) }
func (c *client) chat() string                       { return fmt.Sprintf("chat %d", c.IntN(modelChats)) }

func (c *client) step() {
	switch n := c.IntN(100); {
	case n < 40:
		c.send("/chat/send")
	case n < 52:
		c.send("/chat/steer-send")
	case n < 62:
		c.stop()
	case n < 85:
		c.reply()
	default:
		c.look()
	}
}

func (c *client) send(path string) {
	number := fmt.Sprintf("#%d", c.counter.Add(1))
	said := manners[c.IntN(len(manners))] + " " + number
	kind := []string{"", "send", "retry", "edit", "heartbeat", "canvas", "own.kind >"}[c.IntN(7)]
	on := []runs.OnActive{"", runs.Reject, runs.Behind, runs.Behind, runs.Supersede}[c.IntN(5)]
	body := fields{"chat_id": c.chat(), "input": text(said), "kind": kind, "on_active": on}
	if on == "" || path == "/chat/steer-send" {
		delete(body, "on_active")
	}
	token := ""
	if c.IntN(3) == 0 {
		token = fmt.Sprintf(`"%s %d"`, number, c.n)
		body["client_token"] = token
	}
	for try := range 3 {
		a := c.post(c.relay(), path, body)
		switch {
		case a.Status == http.StatusAccepted:
			c.accepted(taken{number, body["chat_id"].(string), a.RunID, c.n, on == runs.Behind && path == "/chat/send"}, token)
		case a.Status == 0, a.Status >= 500, a.Status == http.StatusTooManyRequests:
		case a.Status == http.StatusConflict && a.RunID != "":
			c.announce(a.RunID, body["chat_id"].(string))
		case a.Status == http.StatusBadRequest && kind == "heartbeat" && on == runs.Supersede:
		default:
			c.Errorf("%s %v: %d %s", path, body, a.Status, a.Body)
		}
		if token == "" || a.Status == http.StatusAccepted && try > 0 {
			return
		}
	}
}

// accepted takes note of a message that was; a repeated one counts once.
func (m *model) accepted(a taken, token string) {
	m.announce(a.run, a.chat)
	m.mu.Lock()
	defer m.mu.Unlock()
	if token != "" {
		if before, again := m.tokens[token]; again {
			if before != a.run {
				m.Errorf("token %s started %s and then %s", token, before, a.run)
			}
			return
		}
		m.tokens[token] = a.run
	}
	m.taken = append(m.taken, a)
}

func (m *model) announce(id subjects.RunID, chat string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.announced[id]; !known {
		m.announced[id] = chat
		m.order = append(m.order, id)
	}
}

// some is a run that was announced, mostly one of the newest.
func (c *client) some() (id subjects.RunID, chat string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.order) == 0 {
		return "nothing", "chat 0"
	}
	back := min(c.IntN(8), len(c.order)-1)
	if c.IntN(6) == 0 {
		back = c.IntN(len(c.order))
	}
	id = c.order[len(c.order)-1-back]
	return id, c.announced[id]
}

func (c *client) stop() {
	id, chat := c.some()
	if id == "nothing" {
		return
	}
	allowed := []int{0, http.StatusAccepted, http.StatusConflict, http.StatusServiceUnavailable}
	if c.IntN(4) == 0 {
		chat, allowed = chat+" not", []int{0, http.StatusNotFound, http.StatusServiceUnavailable}
	}
	for range 1 + c.IntN(2) {
		c.want(c.post(c.relay(), "/chat/stop", fields{"chat_id": chat, "run_id": id, "reason": "enough"}), allowed...)
	}
}

func (c *client) want(a reply, allowed ...int) {
	for _, status := range allowed {
		if a.Status == status {
			return
		}
	}
	c.Errorf("status %d %s, want one of %v", a.Status, a.Body, allowed)
}

// reply answers what a run asks, or what it does not.
func (c *client) reply() {
	for range 6 {
		id, chat := c.some()
		a := c.ask(c.relay(), http.MethodGet, "/runs/"+string(id), "")
		request := fmt.Sprintf("%s:%d", id, 1+c.IntN(3))
		if len(a.Questions) > 0 {
			request = a.Questions[c.IntN(len(a.Questions))].RequestID
		} else if c.IntN(8) > 0 {
			continue
		}
		var both sync.WaitGroup
		for relay := range 1 + c.IntN(2) {
			outcome := []string{yes, no, `{"outcome":"cancelled"}`}[c.IntN(3)]
			both.Go(func() { c.give(relay, chat, id, request, outcome) })
		}
		both.Wait()
		c.want(c.world.answer(c.relay(), chat, id, request, `{"outcome":"selected","optionId":"perhaps"}`),
			0, http.StatusBadRequest, http.StatusConflict, http.StatusNotFound, http.StatusServiceUnavailable)
		return
	}
}

// give answers, and takes note of the answer that counts.
func (m *model) give(relay int, chat string, id subjects.RunID, request, outcome string) {
	a := m.world.answer(relay, chat, id, request, outcome)
	switch a.Status {
	case http.StatusOK:
	case http.StatusConflict:
		outcome = string(a.Outcome)
	case 0, http.StatusNotFound, http.StatusServiceUnavailable:
		return
	default:
		m.Errorf("answer: %d %s", a.Status, a.Body)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.outcomes[request] = append(m.outcomes[request], outcome)
}

// look watches a run from somewhere, to its end or until it has had enough.
func (c *client) look() {
	id, chat := c.some()
	if id == "nothing" {
		return
	}
	v := &view{chat: chat, run: id, after: uint64(c.IntN(30)) * uint64(c.IntN(2))}
	ctx, cancel := c.ctx, context.CancelFunc(func() {})
	if c.IntN(3) == 0 {
		ctx, cancel = context.WithTimeout(c.ctx, c.upTo(time.Second))
	}
	url := c.relays[c.relay()].URL
	c.watching.Go(func() {
		defer cancel()
		w := consumer.Watch{ChatID: chat, RunID: id}
		if after := v.after; after > 0 {
			w.AfterSeq = &after
		}
		stream := (&consumer.Client{BaseURL: url, MaxAttempts: 1000}).Watch(ctx, w)
		defer stream.Close()
		v.seen.State = harness.Reduce(nil)
		v.err = v.read(ctx, stream)
		if errors.Is(v.err, context.DeadlineExceeded) || errors.Is(v.err, context.Canceled) {
			return // it has left
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.views = append(c.views, v)
	})
}

// read is harness.See, from a cursor on.
func (v *view) read(ctx context.Context, s *consumer.Stream) error {
	return v.seen.More(ctx, snapping{s, func() { v.after = 0 }}, nil)
}

// snapping tells of snapshots.
type snapping struct {
	*consumer.Stream
	snapped func()
}

func (s snapping) Next(ctx context.Context) (consumer.Frame, error) {
	f, err := s.Stream.Next(ctx)
	if err == nil && f.Type == consumer.Snapshot {
		s.snapped()
	}
	return f, err
}
