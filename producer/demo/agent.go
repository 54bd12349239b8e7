package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/producer/agent"
)

// AgentConfig of an Agent. Zero values mean the defaults.
type AgentConfig struct {
	Rate      int           // events a second; 0 means 40
	Sentences int           // length of an answer; 0 means 4
	Tool      time.Duration // how long a slow tool takes; 0 means a minute
	Logger    *slog.Logger  // may be nil
}

func (c AgentConfig) withDefaults() AgentConfig {
	c.Rate = min(cmp.Or(max(c.Rate, 0), 40), 10_000)
	c.Sentences = cmp.Or(max(c.Sentences, 0), 4)
	c.Tool = cmp.Or(c.Tool, time.Minute)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Agent answers turns by the words in them; the package comment lists these. It is
// an [agent.Steerable]: what is said to it meanwhile is answered after the sentence.
type Agent struct{ cfg AgentConfig }

// NewAgent makes an Agent.
func NewAgent(cfg AgentConfig) *Agent { return &Agent{cfg.withDefaults()} }

// TakesSteering is true.
func (a *Agent) TakesSteering() bool { return true }

// ErrAsked is how a turn with the word "error" fails.
var ErrAsked = errors.New("the demo was asked to fail, and failed")

// Run answers a turn. The same request, answers and messages yield the same events.
func (a *Agent) Run(ctx context.Context, t agent.Turn) error {
	text := agui.UserText(t.Request().Input)
	a.cfg.Logger.Debug("the demo answers", "chat", t.Request().ChatID, "run", t.Request().RunID)
	s := newSpeaker(ctx, t, a.cfg.Rate)
	defer s.close()
	p := planOf(text, a.cfg)
	if p.quick {
		s.pace = nil
	}
	return s.perform(p, text)
}

// perform is the whole turn.
func (s *speaker) perform(p plan, text string) error {
	req := s.turn.Request()
	thread, run := agui.InputIDs(req.Input)
	thread, run = cmp.Or(thread, req.ChatID), cmp.Or(run, string(req.RunID))
	input := agui.RunInput(thread, run, req.Input, nil)
	if err := s.publish(agui.NewRunStarted(thread, run, input)); err != nil {
		return err
	}
	s.play(think(s.id))
	s.play(readLog(s.id, p.n))
	if p.tool > 0 {
		s.slowTool(p.tool, p.stubborn)
	}
	s.play(only(event{Type: agui.TextMessageStart, MessageID: s.reply, Role: "assistant"}))
	s.say(youSaid(text))
	for i := range p.sentences {
		if i == (p.sentences+1)/2 {
			s.middle(p)
		}
		s.say(sentence(p.n, i))
		s.steer()
	}
	if p.sentences < 2 {
		s.middle(p)
	}
	s.play(only(event{Type: agui.TextMessageEnd, MessageID: s.reply},
		event{Type: agui.RunFinished, ThreadID: thread, RunID: run}))
	return s.err
}

// middle is what happens in the middle of an answer.
func (s *speaker) middle(p plan) {
	if p.fails && s.err == nil {
		s.err = ErrAsked
	}
	if p.approval {
		if a, ok := s.ask(permission(s.id("call"))); ok {
			s.say(decided(a))
		}
	}
	if p.form {
		if a, ok := s.ask(form()); ok {
			s.say(filledIn(a))
		}
	}
}

// steer answers the messages that have arrived.
func (s *speaker) steer() {
	for s.err == nil {
		select {
		case input := <-s.turn.Steering():
			s.say(youAlsoSaid(agui.UserText(input)))
		default:
			return
		}
	}
}

func (s *speaker) slowTool(d time.Duration, stubborn bool) {
	id := s.id("wait")
	args, _ := json.Marshal(map[string]int64{"seconds": int64(d / time.Second)})
	s.play(call(id, "wait", s.reply, string(args)))
	if s.err != nil {
		return
	}
	ctx := s.ctx
	if stubborn {
		ctx = context.WithoutCancel(ctx) // it is over when it is over
	}
	if !sleep(ctx, d) {
		s.err = context.Cause(s.ctx)
		return
	}
	s.play(only(result(id, s.id("waited"), `{"done":true}`)))
}
