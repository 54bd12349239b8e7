package demo

import (
	"context"
	"iter"
	"time"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/producer/agent"
)

// speaker publishes one turn at a reader's pace. After the first error it is silent.
type speaker struct {
	ctx   context.Context
	turn  agent.Turn
	reply string // id of the answer's message
	pace  *time.Ticker
	err   error
}

func newSpeaker(ctx context.Context, t agent.Turn, rate int) *speaker {
	s := &speaker{ctx: ctx, turn: t, pace: time.NewTicker(time.Second / time.Duration(rate))}
	s.reply = s.id("answer")
	return s
}

func (s *speaker) close() {
	if s.pace != nil {
		s.pace.Stop()
	}
}

// id names a thing of this run: a client keeps the messages of a chat by their ids.
func (s *speaker) id(kind string) string { return kind + "-" + string(s.turn.Request().RunID) }

func (s *speaker) publish(raw []byte) error {
	if s.err == nil {
		s.err = s.turn.Publish(s.ctx, raw)
	}
	if s.err != nil || s.pace == nil {
		return s.err
	}
	select {
	case <-s.pace.C:
	case <-s.ctx.Done():
		s.err = context.Cause(s.ctx)
	}
	return s.err
}

func (s *speaker) play(events iter.Seq[event]) {
	for e := range events {
		if s.publish(e.json()) != nil {
			return
		}
	}
}

// say adds words to the answer.
func (s *speaker) say(words string) {
	s.play(deltas(event{Type: agui.TextMessageContent, MessageID: s.reply}, tokens(words)))
}

func (s *speaker) ask(q agent.Question) (agent.Answer, bool) {
	if s.err != nil {
		return agent.Answer{}, false
	}
	a, err := s.turn.Ask(s.ctx, q)
	s.err = err
	return a, err == nil
}
